# SPDX-License-Identifier: MIT
#
# stop.py FILE OUT SIGNAL COMMAND...: the command reads half of FILE from a pipe that stays
# open; when it has answered some rows, the signal must end it with 128 + SIGNAL, although it
# waits for input. With --twice before the signal's number the signal comes while it computes,
# and once more, which must end it at once by the signal itself.
import os
import signal
import subprocess
import sys
import time

twice = sys.argv[3] == "--twice"
if twice:
    del sys.argv[3]
data = open(sys.argv[1], "rb").read()
out, number, command = sys.argv[2], int(sys.argv[3]), sys.argv[4:]
process = subprocess.Popen(command, stdin=subprocess.PIPE,
                           preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
# Twice: rows enough for seconds of work, so that it is at it whenever the signals come.
process.stdin.write(data + data[data.index(b"\n") + 1:] * 9 if twice
                    else data[:len(data) // 2])
process.stdin.flush()
if twice:
    time.sleep(0.3)
    process.send_signal(number)
    time.sleep(0.05)
else:
    for _ in range(200):
        if os.path.exists(out + ".part.state"):
            break
        time.sleep(0.05)
process.send_signal(number)
try:
    got = process.wait(20)
except subprocess.TimeoutExpired:
    process.kill()
    sys.exit("it goes on")
if got != (-number if twice else 128 + number):
    sys.exit("exit status %d" % got)
