#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tokens that bert-score scores a second, beside bert-fill on the very sequences that this
takes, start included in neither. usage: score_rate.py BUILD MODEL"""
import os
import subprocess
import sys
import time

build, model = sys.argv[1:3]
news = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../eval/news-cloze.tsv")
with open(news, encoding="utf-8") as file:
    rows = [line.rstrip("\n").split("\t") for line in file][1:9]
texts = [text.replace("[MASK]", answer) for _, text, answer in rows]


def seconds(program, lines, *options):
    command = [os.path.join(build, program), "--no-config", "-m", model, *options]
    least = []
    for _ in range(2):
        begun = time.monotonic()
        result = subprocess.run(command, input="".join(x + "\n" for x in lines), text=True,
                                stdout=subprocess.PIPE, check=True)
        least.append(time.monotonic() - begun)
    return min(least), result.stdout.splitlines()


start, _ = seconds("bert-fill", ["[MASK]"])
score, scored = seconds("bert-score", texts, "--per-token")
# Each known token masked once: what the score asks, as rows to fill.
masked = []
for line in scored:
    record, offset, token, known = line.split("\t")
    text = texts[int(record) - 1]
    if known and not token.startswith("##") and len(token) == 1:
        masked.append(text[:int(offset)] + "[MASK]" + text[int(offset) + 1:])
fill, _ = seconds("bert-fill", masked, "-k1")
print(f"bert-score: {len(scored) / (score - start):.0f} tokens scored a second; "
      f"bert-fill: {len(masked) / (fill - start):.0f} of the same rows a second")
