#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One question to bert-fill, its start included: median and least time, peak memory.
usage: start_rate.py BUILD [MODEL.bert...] (after the model that ships)"""
import os
import statistics
import subprocess
import sys
import time

ROUNDS = 21
build, *models = sys.argv[1:]


def ask(options):
    """Milliseconds and MB of one process."""
    begin = time.perf_counter()
    process = subprocess.Popen([os.path.join(build, "bert-fill"), "--no-config", *options,
                                "今天天气真[MASK]啊"], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit("bert-fill failed")
    return (time.perf_counter() - begin) * 1e3, used.ru_maxrss / 1024


for name, options in [("the model that ships", [])] + [(m, ["-m", m]) for m in models]:
    ask(options)
    milliseconds, megabytes = zip(*(ask(options) for _ in range(ROUNDS)))
    print(f"one bert-fill with {name}: {statistics.median(milliseconds):.0f} ms (least "
          f"{min(milliseconds):.0f}), {max(megabytes):.0f} MB")
