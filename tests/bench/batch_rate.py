#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rows of 16 tokens a second of bert-batch, CSV in and out, beside the encoder alone on as
many such rows, in turns. usage: batch_rate.py BUILD MODEL.bert [ROWS]"""
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile

build, model = sys.argv[1:3]
rows = int(sys.argv[3]) if len(sys.argv) > 3 else 1000
threads = len(os.sched_getaffinity(0))
ROUNDS = 5


def table(file):
    draw = random.Random(16)
    print("id,text", file=file)
    for i in range(rows):
        text = [chr(draw.randrange(0x4E00, 0x6000)) for _ in range(14)]
        text[draw.randrange(14)] = "[MASK]"
        print(f"{i},{''.join(text)}", file=file)
    file.flush()


def whole(path):
    said = subprocess.run([os.path.join(build, "bert-batch"), "--no-config", "-v", "-m", model,
                           f"-j{threads}", path], check=True, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True).stderr
    return int(re.search(r"(\d+) rows/s", said).group(1))


def encoder():
    said = subprocess.run([os.path.join(build, "bench/bench_nn"), model, model, model],
                          input=f"bulk int8 {threads} 16 {rows}\n" * 2, check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    return rows / float(said.split()[1])  # the first is warm-up


with tempfile.NamedTemporaryFile("w", suffix=".csv", encoding="utf-8") as file:
    table(file)
    pairs = [(whole(file.name), encoder()) for _ in range(ROUNDS)]
ours, alone = (statistics.median(rates) for rates in zip(*pairs))
share = statistics.median(a / b for a, b in pairs)
print(f"bert-batch: {ours:.0f} rows of 16 tokens a second; the encoder alone: {alone:.0f}; "
      f"{share:.0%} of it")
