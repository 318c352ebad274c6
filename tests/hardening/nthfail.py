# SPDX-License-Identifier: MIT
#
# nthfail.py BUILD LIBRARY MOST: for each program and each of seven calls, lets the n-th call
# fail, for up to MOST values of n spread over the run; bert-serve is asked one thing. The
# program must not crash, must end with a status that it promises, must say why when that is
# not 0, and must not leave half an output behind; with status 0 the output is the right one
# (of bert-serve, the answer if there is one). Ends with "N passed, N failed".
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD, LIBRARY = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
MOST = int(sys.argv[3])
MODEL = os.path.join(ROOT, "tests/golden/tiny/f32")
CALLS = ["open", "read", "write", "close", "fsync", "malloc", "mmap"]
TEXTS = "今天天气真[MASK]啊\n我[MASK]你\n" * 20
# Program, arguments (OUT: its output file), input.
PROGRAMS = [
    ("bert-fill", ["-m", MODEL, "--to=jsonl", "-o", "OUT"], TEXTS),
    ("bert-tokenize", ["-m", MODEL, "-o", "OUT"], TEXTS),
    ("bert-batch", ["-m", MODEL, "-q", "--from=text", "--to=csv", "-o", "OUT"], TEXTS),
    ("bert-score", ["-m", MODEL, "-o", "OUT"], TEXTS.replace("[MASK]", "好")),
    ("bert-convert", [MODEL, "-q", "-o", "OUT"], ""),
    ("bert-serve", ["-m", MODEL, "-q", "--listen=unix:SOCKET"], ""),
]


def ask(process, path):
    """What the server answers to one question, or None: a fault may cost the start, the
    connection or the answer."""
    body = json.dumps({"text": "今天天气真[MASK]啊"}).encode()
    head = "POST /predict HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d"
    for _ in range(3000):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(10)
            try:
                connection.connect(path)
                connection.sendall((head % len(body)).encode() + b"\r\n\r\n" + body)
                answer = b"".join(iter(lambda: connection.recv(65536), b""))
                found = answer.startswith(b"HTTP/1.1 200")
                return answer.partition(b"\r\n\r\n")[2] if found else None
            except (FileNotFoundError, ConnectionRefusedError):
                if process.poll() is not None:
                    return None
                time.sleep(0.01)
            except OSError:
                return None
    return None


def run(program, arguments, text, folder, **faults):
    out = os.path.join(folder, "out.bert" if program == "bert-convert" else "out")
    for name in os.listdir(folder):
        os.remove(os.path.join(folder, name))
    arguments = [a.replace("OUT", out).replace("SOCKET", folder + "/socket")
                 for a in arguments]
    environment = dict(os.environ, LD_PRELOAD=LIBRARY, **faults)
    process = subprocess.Popen(
        [os.path.join(BUILD, program), "--no-config", "-j1"] + arguments, cwd=folder,
        env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)
    left = None
    if program == "bert-serve":
        left = ask(process, folder + "/socket")
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
    try:
        said = process.communicate(text.encode(), timeout=30)[1].decode(errors="replace")
    except subprocess.TimeoutExpired:
        process.kill()
        return None, process.communicate()[1].decode(errors="replace"), None
    if os.path.exists(out):
        with open(out, "rb") as file:
            left = file.read()
    return process.returncode, said, left


def complaint(program, expected, status, said, left):
    if status is None:
        return "it hangs"
    if status < 0:
        return "signal %d" % -status
    if status > 5:
        return "exit status %d" % status
    if status not in (0, 1) and program not in said:
        return "exit status %d without a word" % status
    if status == 0 and left != expected and (left or program != "bert-serve"):
        return "exit status 0, but the output differs"
    if status > 1 and left is not None and left != expected:
        return "half an output is left"
    return ""


def main():
    passed = failed = 0
    folder = tempfile.mkdtemp()
    for program, arguments, text in PROGRAMS:
        status, said, expected = run(program, arguments, text, folder)
        if status != 0 or not expected:
            print("FAIL: %s without faults: %d %s" % (program, status, said))
            failed += 1
            continue
        for call in CALLS:
            count = folder + ".count"
            run(program, arguments, text, folder, FAIL_CALL=call, FAIL_COUNT=count)
            total = int(open(count).read())
            step = max(1, -(-total // MOST))
            wrong = []
            for nth in range(1, total + 1, step):
                result = run(program, arguments, text, folder, FAIL_CALL=call,
                             FAIL_NTH=str(nth))
                why = complaint(program, expected, *result)
                if why:
                    wrong.append("%s %d of %d: %s: %s" % (call, nth, total, why,
                                                          result[1].strip()[:200]))
            passed += not wrong
            failed += bool(wrong)
            if wrong:
                print("FAIL: %s: %s" % (program, "\n  ".join(wrong[:5])))
    print("%d passed, %d failed" % (passed, failed))
    return failed > 0


sys.exit(main())
