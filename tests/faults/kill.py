# SPDX-License-Identifier: MIT
#
# P05: kill.py EXPECTED OUT KILLS COMMAND...: runs the command (which has --resume and -o OUT)
# again and again, killing it at random moments, until it was killed KILLS times; each time
# that it comes to its end OUT must be EXPECTED, and it begins anew.
import os
import random
import subprocess
import sys
import time

expected = open(sys.argv[1], "rb").read()
out, kills, command = sys.argv[2], int(sys.argv[3]), sys.argv[4:]
random.seed(5)
killed = ended = resumed = 0
while killed < kills or ended == 0:
    resumed += os.path.exists(out + ".part.state")
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    time.sleep(random.uniform(0, 0.25))
    process.kill()
    errors = process.communicate()[1].decode()
    if process.returncode == -9:
        killed += 1
        continue
    if process.returncode not in (0, 1):
        sys.exit("exit status %d: %s" % (process.returncode, errors))
    if open(out, "rb").read() != expected:
        sys.exit("after %d kills the output differs" % killed)
    if os.path.exists(out + ".part") or os.path.exists(out + ".part.state"):
        sys.exit("a finished run left its state")
    os.remove(out)
    ended += 1
if resumed == 0:
    sys.exit("no run was ever resumed")
