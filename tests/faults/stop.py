# SPDX-License-Identifier: MIT
#
# stop.py FILE OUT SIGNAL COMMAND...: the command reads half of FILE from a pipe that stays
# open; when it has answered some rows, the signal must end it with 128 + SIGNAL, although it
# waits for input. With --twice before the signal's number its first write hangs, so that the
# signal alone can't end it; a second one must, at once and by the signal itself.
import os
import signal
import subprocess
import sys
import time

twice = sys.argv[3] == "--twice"
if twice:
    del sys.argv[3]
    os.environ["FAULT_WRITE"] = "hang"
data = open(sys.argv[1], "rb").read()
out, number, command = sys.argv[2], int(sys.argv[3]), sys.argv[4:]


def until(true):
    for _ in range(400):
        if true():
            return
        time.sleep(0.05)
    process.kill()
    sys.exit("nothing happens")


def catches():
    status = open("/proc/%d/status" % process.pid).read().split()
    return int(status[status.index("SigCgt:") + 1], 16) >> number - 1 & 1


process = subprocess.Popen(command, stdin=subprocess.PIPE,
                           stderr=subprocess.PIPE if twice else None,
                           preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
process.stdin.write(data[:len(data) // 2])
process.stdin.flush()
if twice:
    while process.stderr.readline() != b"hangs\n":
        assert process.poll() is None
    process.send_signal(number)
    until(lambda: not catches())
else:
    until(lambda: os.path.exists(out + ".part.state"))
process.send_signal(number)
try:
    got = process.wait(20)
except subprocess.TimeoutExpired:
    process.kill()
    sys.exit("it goes on")
if got != (-number if twice else 128 + number):
    sys.exit("exit status %d" % got)
