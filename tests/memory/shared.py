# SPDX-License-Identifier: MIT
"""shared.py MODEL.bert PROGRAM...: two processes that answer from one model.bert at a time
hold its pages once: none is private, and each counts half of what it touched."""

import os
import subprocess
import sys

model, command = os.path.realpath(sys.argv[1]), sys.argv[2:]


def pages(pid):
    """Kilobytes of the mappings of the model, by kind."""
    sums, inside = {}, False
    with open(f"/proc/{pid}/smaps", encoding="utf-8") as smaps:
        for line in smaps:
            words = line.split()
            if not words[0].endswith(":"):
                inside = words[-1] == model
            elif inside and words[-1] == "kB":
                sums[words[0][:-1]] = sums.get(words[0][:-1], 0) + int(words[1])
    return sums


processes = [subprocess.Popen(command + ["-m", model], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) for _ in range(2)]
for process in processes:
    process.stdin.write("今天天气真[MASK]啊\n".encode())
    process.stdin.flush()
    assert process.stdout.readline(), "no answer"
held = [pages(process.pid) for process in processes]
for process in processes:
    process.stdin.close()
    assert process.wait() == 0
for each in held:
    print(each)
    assert each["Rss"] * 1024 > os.path.getsize(model) / 4, "it is not mapped, or not read"
    assert each["Private_Dirty"] == each["Anonymous"] == 0, "pages were copied"
    assert each["Pss"] < 0.6 * each["Rss"], "pages are not shared"
