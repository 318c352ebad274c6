# SPDX-License-Identifier: MIT
#
# completions.py BUILD [terminals]: the committed completions are what completions/generate makes now
# and, with the second argument, real shells, at a terminal, complete options, words of a choice, names of models, files
# by ending and columns of the table that is named. Ends with "N passed, N failed, N skipped".
import filecmp
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(sys.argv[1])
SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "bash/%s"),
    "zsh": (["zsh", "-f", "-i"], "zsh/_%s"),
    "fish": (["fish", "--no-config", "-i"], "fish/%s.fish"),
}
PROGRAMS = ["bert-fill", "bert-tokenize", "bert-batch", "bert-convert", "bert-serve",
            "bert-score"]
# What is typed before the Tab key; what must then be offered; what must not.
CASES = [
    ("bert-fill --jo", ["--joint"], []),
    ("bert-fill --to=", ["jsonl", "table", "hf"], ["safetensors"]),
    ("bert-fill --to ", ["jsonl", "table", "hf"], ["safetensors"]),
    ("bert-fill --no-", ["--no-punct", "--no-mmap", "--no-config"], ["--no-header"]),
    ("bert-fill -m ", ["small", "large", "own.bert"], ["table.csv"]),
    ("bert-fill --words-file=", ["words.txt"], ["table.csv"]),
    ("bert-batch ta", ["table.csv", "table.jsonl"], ["table.png"]),
    ("bert-batch table.csv -c ", ["review", "star"], ["note"]),
    ("bert-batch table.csv --column=", ["review", "star"], ["note"]),
    ("bert-batch table.jsonl -c ", ["note", "body"], ["review"]),
    ("bert-batch table.csv --select=star,re", ["review"], ["table.csv"]),
    ("bert-tokenize --from=", ["csv", "tsv", "jsonl", "text"], ["hf"]),
    ("bert-convert ", ["own.bert", "weights.safetensors", "folder"], ["table.csv"]),
    ("bert-convert --to=", ["bert", "safetensors"], ["table"]),
    ("bert-serve --log", ["--log-text"], []),
    ("bert-score table.csv --pairs=", ["review"], []),
    ("bert-score --sus", ["--suspects"], []),
]


def write(path, text=""):
    with open(path, "w") as file:
        file.write(text)


class Terminal:
    """A shell at a terminal of its own."""

    def __init__(self, command, environment):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(command[0], command, environment)

    def read_until(self, done, seconds):
        text = ""
        end = time.time() + seconds
        while time.time() < end and not done(text):
            if select.select([self.fd], [], [], 0.05)[0]:
                try:
                    text += os.read(self.fd, 65536).decode(errors="replace")
                except OSError:
                    break
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()=>].?|[\r\a]", "", text)

    def type(self, text):
        os.write(self.fd, text.encode())

    def close(self):
        os.close(self.fd)
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)


def offered_by_terminal(shell, program, typed, wanted, environment):
    command, name = SHELLS[shell]
    terminal = Terminal(command, environment)
    path = os.path.join(ROOT, "completions", name % program)
    if shell == "bash":
        terminal.type("bind 'set enable-bracketed-paste off'; bind 'set show-all-if-ambiguous on'; PS1='> '; . %s; echo rea''dy\n"
                      % path)
    else:
        terminal.type("PS1='> '; fpath=(%s $fpath); autoload -Uz compinit; compinit -u -D; "
                      "setopt autolist; LISTMAX=0; echo rea''dy\n" % os.path.dirname(path))
    terminal.read_until(lambda text: "ready\r\n" in text, 20)
    terminal.type(typed + "\t")
    time.sleep(0.3)
    terminal.type("\t")
    text = terminal.read_until(lambda text: all(word in text for word in wanted), 5)
    terminal.close()
    return text[text.find("\t") + 1:]


def offered_by_fish(program, typed, environment):
    path = os.path.join(ROOT, "completions", SHELLS["fish"][1] % program)
    script = "source %s; complete -C '%s'" % (path, typed)
    return subprocess.run(["fish", "--no-config", "-c", script], env=environment, text=True,
                          capture_output=True, timeout=60).stdout


def compare_with_generated(check):
    with tempfile.TemporaryDirectory() as fresh:
        subprocess.run([os.path.join(ROOT, "completions/generate"), "-b", BUILD, fresh],
                       check=True)
        for shell, (_, name) in SHELLS.items():
            for program in PROGRAMS:
                path = name % program
                committed = os.path.join(ROOT, "completions", path)
                check("completions/%s is up to date (make completions)" % path,
                      os.path.exists(committed) and
                      filecmp.cmp(os.path.join(fresh, path), committed, shallow=False), "")


def main():
    counts = {"passed": 0, "failed": 0, "skipped": 0}

    def check(what, good, why):
        counts["passed" if good else "failed"] += 1
        if not good:
            print("FAIL: %s\n%s" % (what, why))

    compare_with_generated(check)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.makedirs("models/large")
        os.mkdir("folder")
        write("models/small.bert")
        write("models/large/config.json")
        write("table.csv", "\ufeffid,review,star\n1,\u597d,5\n")
        write("table.jsonl", '{"note":"\u597d","body":1}\n')
        for name in ("own.bert", "weights.safetensors", "words.txt", "table.png"):
            write(name)
        environment = {
            "PATH": BUILD + ":" + os.environ["PATH"], "HOME": folder, "TERM": "xterm",
            "LC_ALL": "C.UTF-8", "BERT_MODEL_DIRS": folder + "/models", "COLUMNS": "200",
            "XDG_DATA_HOME": folder + "/.data", "XDG_CONFIG_HOME": folder + "/.config"}
        for shell in SHELLS if sys.argv[2:] else ():
            if not shutil.which(shell):
                print("SKIP: completions in %s: it is not installed" % shell)
                counts["skipped"] += len(CASES)
                continue
            for typed, wanted, unwanted in CASES:
                program = typed.split()[0]
                text = (offered_by_fish(program, typed, environment) if shell == "fish" else
                        offered_by_terminal(shell, program, typed, wanted, environment))
                rest = text.replace(typed, "", 1)
                check("%s: %s<Tab>" % (shell, typed),
                      all(word in text for word in wanted) and
                      not any(word in rest for word in unwanted), text)
    print("%(passed)d passed, %(failed)d failed, %(skipped)d skipped" % counts)
    return counts["failed"] > 0


sys.exit(main())
