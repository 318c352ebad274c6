# SPDX-License-Identifier: MIT
#
# examples.py [-u] BUILD FILE...: runs every example of manual pages and Markdown pages as a
# reader would type it, and compares what comes with what the page shows. An example is a
# block (```console in Markdown, .Bd -literal in mdoc) with lines "$ COMMAND" ("> " continues
# one), each followed by what a terminal shows, standard error last; a line "..." stands for
# any lines. A block is one bash session with a terminal for its standard output, in a copy of
# data/samples that the blocks of a page share; manual pages find a checkpoint called my-model
# there. A ```sh block only has to succeed. -u writes what came into the pages.
# Ends with "N passed, N failed, N skipped".
import fcntl
import os
import pty
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MARK = "\x1e"
SECONDS = 60


class Markdown:
    begin = re.compile(r"^```(console|sh)$")
    end = "```"

    @staticmethod
    def read(line):
        return line

    write = read


class Mdoc:
    begin = re.compile(r"^\.Bd -literal")
    end = ".Ed"

    @staticmethod
    def read(line):
        return line.replace("\\-", "-").replace("\\e", "\\").replace("\\&", "")

    @staticmethod
    def write(line):
        line = line.replace("\\", "\\e").replace("-", "\\-")
        return "\\&" + line if line[:1] in (".", "'") else line


def commands_of(lines):
    """[command lines, output lines] of each command in a block."""
    commands = []
    for line in lines:
        if line.startswith("$ "):
            commands.append([[line], []])
        elif line.startswith("> ") and commands and not commands[-1][1]:
            commands[-1][0].append(line)
        elif commands:
            commands[-1][1].append(line)
    return commands


def run_session(commands, folder, build):
    """What each command of one bash session shows, and its exit status."""
    script = ["set +m", "mark() { local status=$?; printf '\\036%d\\036' $status >&2; "
              "printf '\\036'; }"]
    for command in commands:
        script += [command, "mark"]
    environment = {
        "PATH": build + ":" + os.environ["PATH"], "HOME": folder, "TERM": "dumb",
        "LC_ALL": "C.UTF-8", "COLUMNS": "80"}
    main, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
    shown = []

    def collect():
        while True:
            try:
                piece = os.read(main, 65536)
            except OSError:
                return
            if not piece:
                return
            shown.append(piece)

    reader = threading.Thread(target=collect)
    reader.start()
    process = subprocess.Popen(["bash", "-c", "\n".join(script)], cwd=folder,
                               env=environment, stdin=subprocess.DEVNULL, stdout=terminal,
                               stderr=subprocess.PIPE, start_new_session=True)
    os.close(terminal)
    timer = threading.Timer(SECONDS, lambda: os.killpg(process.pid, signal.SIGKILL))
    timer.start()
    errors = b""
    while errors.count(MARK.encode()) < 2 * len(commands):
        piece = os.read(process.stderr.fileno(), 65536)
        if not piece:
            break
        errors += piece
    process.wait()
    timer.cancel()
    try: # what runs in the background ends with its session
        os.killpg(process.pid, signal.SIGTERM)
    except ProcessLookupError:
        pass
    reader.join(5)
    os.close(main)
    text = b"".join(shown).decode().replace("\r\n", "\n").split(MARK)
    pieces = errors.decode().split(MARK)
    return [(text[i] + pieces[2 * i], int(pieces[2 * i + 1]))
            if 2 * i + 1 < len(pieces) and i < len(text) else ("(it did not end)\n", 1)
            for i in range(len(commands))]


def fits(expected, got):
    """Whether lines are the expected ones, "..." standing for any lines."""
    if not expected:
        return not got
    if expected[0] == "...":
        return any(fits(expected[1:], got[i:]) for i in range(len(got) + 1))
    return bool(got) and got[0] == expected[0] and fits(expected[1:], got[1:])


def check_block(kind, lines, where, folder, build, results):
    """Runs a block; returns its lines with what came."""
    if kind == "sh":
        commands = [[["$ " + "\n".join(lines)], []]]
    else:
        commands = commands_of(lines)
    typed = ["\n".join(line[2:] for line in command) for command, _ in commands]
    answers = run_session(typed, folder, build)
    after = []
    for (command, expected), (text, status) in zip(commands, answers):
        got = text.splitlines()
        # An example may show a failure; then its message is there to see.
        good = status == 0 if kind == "sh" else fits(expected, got)
        results["passed" if good else "failed"] += 1
        if not good:
            print("FAIL: %s: %s\n%s" % (where, command[0], text), end="")
        after += command + (expected if good else got)
    return lines if kind == "sh" else after


def port_is_free():
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", 8000))
        except OSError:
            return False
    return True


def check_page(path, build, update, results):
    form = Markdown if path.endswith(".md") else Mdoc
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    after, top = [], tempfile.mkdtemp()
    folder = top + "/data/samples"
    shutil.copytree(os.path.join(ROOT, "data/samples"), folder)
    os.symlink(os.path.join(ROOT, "tests"), top + "/tests")
    if form is Mdoc:
        shutil.copytree(os.path.join(ROOT, "tests/golden/tiny/f32"), folder + "/my-model")
    at = 0
    while at < len(lines):
        begin = form.begin.match(lines[at])
        after.append(lines[at])
        at += 1
        if not begin:
            continue
        end = lines.index(form.end, at)
        block = [form.read(line) for line in lines[at:end]]
        kind = begin.group(1) if form is Markdown else "console"
        if kind == "sh" or any(line.startswith("$ ") for line in block):
            where = "%s:%d" % (os.path.relpath(path, ROOT), at)
            if any("bert-serve" in line for line in block) and not port_is_free():
                print("SKIP: %s: port 8000 is in use" % where)
                results["skipped"] += 1
                after += lines[at:end]
                at = end
                continue
            block = check_block(kind, block, where, folder, build, results)
        after += [form.write(line) for line in block]
        at = end
    shutil.rmtree(top)
    if update:
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(after) + "\n")


def main():
    arguments = sys.argv[1:]
    update = arguments[0] == "-u"
    build, *pages = arguments[update:]
    results = {"passed": 0, "failed": 0, "skipped": 0}
    for page in pages:
        check_page(page, os.path.abspath(build), update, results)
    print("%(passed)d passed, %(failed)d failed, %(skipped)d skipped" % results)
    return results["failed"] > 0


sys.exit(main())
