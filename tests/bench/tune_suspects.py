#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The least gain T of bert-score --suspects: the smallest at which at most 5 % of correct
sentences raise an alarm, and how many of the mistakes are then found.

usage: tune_suspects.py BUILD [OPTION OF BERT-SCORE...]"""
import json
import subprocess
import sys

build, options = sys.argv[1], sys.argv[2:]
with open("tests/eval/typos.tsv", encoding="utf-8") as file:
    pairs = [line.rstrip("\n").split("\t") for line in file][1:]
pairs = [(written, correct) for written, correct in pairs if len(written) == len(correct)]


LEAST = 5  # gains below are not of interest, and correcting for them would take long


def suspects(texts):
    """For each text {offset: (gain, best other character)}, from LEAST on."""
    command = [build + "/bert-score", f"--suspects={LEAST}", "-k1", "--to=jsonl", *options]
    out = subprocess.run(command, input="".join(t + "\n" for t in texts), text=True,
                         stdout=subprocess.PIPE, check=True).stdout
    return [{s["offset"]: (s["gain"], s["better"][0]["word"])
             for s in json.loads(line)["suspects"]} for line in out.splitlines()]


clean = suspects([correct for _, correct in pairs])
worst = sorted((max((gain for gain, _ in found.values()), default=0) for found in clean),
               reverse=True)
threshold = worst[len(worst) // 20]  # that one and those below must stay silent
wrong = [(written, correct) for written, correct in pairs if written != correct]
found = suspects([written for written, _ in wrong])


def report(limit):
    alarms = sum(gain >= limit for gain in worst)
    hit = right = mistakes = noticed = 0
    for (written, correct), marks in zip(wrong, found):
        places = [i for i in range(len(written)) if written[i] != correct[i]]
        caught = [i for i in places if i in marks and marks[i][0] >= limit]
        mistakes += len(places)
        hit += len(caught)
        noticed += bool(caught)
        right += sum(marks[i][1] == correct[i] for i in caught)
    print(f"T {limit:.2f}: {100 * alarms / len(worst):.1f} % of {len(worst)} correct sentences "
          f"alarm; {100 * noticed / len(wrong):.1f} % of {len(wrong)} wrong sentences and "
          f"{100 * hit / mistakes:.1f} % of {mistakes} wrong characters found, "
          f"{100 * right / max(hit, 1):.0f} % of those with the right one first")


for limit in (threshold + 0.005, 6, 8, 10, 12, 13.6):
    report(limit)
