#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a precision costs in answers: agreement with f32, the same on a copy of the model
with the outliers of real BERTs (outliers.py), and the true answers found. Usage:
accuracy.py --fill BERT_FILL --work FOLDER MODEL... (a folder, or a .bert file, of which
only the true answers can be told)"""

import argparse
import csv
import json
import math
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
EVAL = os.path.join(HERE, "../eval")
SETS = ("news-cloze", "idiom-cloze", "poem-cloze", "common-sense")
SCORED = 100  # sentences scored for perplexity: each token is a sequence of its own
DEEP = 200  # answers asked for, so that another's first is found further down


def read_set(name):
    """(text, accepted answers) of each sentence."""
    with open(os.path.join(EVAL, name + ".tsv"), encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [(row["text"], (row.get("answer") or row["answers"]).split())
                for row in rows]


def fill(options, model, precision, texts, k):
    """For each text its candidates: (id, word, probability), best first."""
    command = [options.fill, "--no-config", "--model", model, "--to=jsonl", "-k", str(k)]
    if precision:
        command.append("--precision=" + precision)
    lines = "".join(text + "\n" for text in texts)
    result = subprocess.run(command, input=lines.encode(), stdout=subprocess.PIPE)
    if result.returncode != 0:
        sys.exit(f"accuracy: {' '.join(command)} ended with {result.returncode}")
    answers = []
    for line in result.stdout.decode().splitlines():
        candidates = json.loads(line)["masks"][0]["candidates"]
        answers.append([(c["id"], c["word"], c["probability"]) for c in candidates])
    if len(answers) != len(texts):
        sys.exit("accuracy: bert-fill lost a record")
    return answers


def agreement(exact, other):
    """Shares of equal first answers and of equal five best; how far the probability of
    f32's first answer is off on average; the greatest difference among f32's five."""
    first = five = 0
    total = most = 0.0
    for a, b in zip(exact, other):
        there = {id: probability for id, _, probability in b}
        differences = [abs(p - there.get(id, 0)) for id, _, p in a[:5]]
        first += a[0][0] == b[0][0]
        five += {c[0] for c in a[:5]} == {c[0] for c in b[:5]}
        total += differences[0]
        most = max(most, *differences)
    return first / len(exact), five / len(exact), total / len(exact), most


def found(answers, expected):
    """Shares of sentences whose true answer is the first, or among five."""
    one = sum(a[0][1] in e for a, e in zip(answers, expected))
    five = sum(any(c[1] in e for c in a[:5]) for a, e in zip(answers, expected))
    return one / len(answers), five / len(answers)


def print_agreement(options, title, model):
    print(f"\n### Agreement with f32 on news-cloze: {title}\n")
    print("| precision | equal first | equal five | mean difference | greatest |")
    print("|---|---|---|---|---|")
    texts = [text for text, _ in read_set("news-cloze")]
    exact = fill(options, model, "f32", texts, DEEP)
    for precision in ("f16", "int8"):
        other = fill(options, model, precision, texts, DEEP)
        first, five, mean, most = agreement(exact, other)
        print(f"| {precision} | {first:.2%} | {five:.2%} | {mean:.5f} | {most:.4f} |",
              flush=True)


def print_found(options, model, precisions):
    print("\n### True answers found first / among five\n")
    print("| precision | " + " | ".join(SETS) + " |")
    print("|---" * (len(SETS) + 1) + "|")
    for precision in precisions:
        cells = []
        for name in SETS:
            rows = read_set(name)
            answers = fill(options, model, precision, [text for text, _ in rows], 5)
            one, five = found(answers, [expected for _, expected in rows])
            cells.append(f"{one:.1%} / {five:.1%}")
        print(f"| {precision or 'as it is'} | " + " | ".join(cells) + " |", flush=True)


def print_perplexity(options, model):
    """Pseudo-perplexity of the first sentences of news-cloze with the answer in place."""
    program = os.path.join(os.path.dirname(options.fill), "bert-score")
    lines = "".join(text.replace("[MASK]", answers[0]) + "\n"
                    for text, answers in read_set("news-cloze")[:SCORED])
    result = subprocess.run([program, "--no-config", "--model", model],
                            input=lines.encode(), stdout=subprocess.PIPE, check=True)
    rows = [line.split("\t") for line in result.stdout.decode().splitlines()]
    tokens = sum(int(row[1]) for row in rows)
    total = sum(float(row[3]) for row in rows)
    print(f"\nPseudo-perplexity of {len(rows)} sentences of news-cloze, {tokens} tokens: "
          f"{math.exp(-total / tokens):.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fill", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("models", nargs="+")
    options = parser.parse_args()
    for model in options.models:
        print(f"\n## {os.path.basename(os.path.normpath(model))}")
        if not os.path.isdir(model):
            print_found(options, model, [None])
            print_perplexity(options, model)
            continue
        copy = os.path.join(options.work, "outliers")
        subprocess.run([sys.executable, os.path.join(HERE, "outliers.py"), model, copy],
                       check=True)
        print_agreement(options, "as it is", model)
        print_agreement(options, "with outliers", copy)
        print_found(options, model, ["f32", "f16", "int8"])
        print_perplexity(options, model)


if __name__ == "__main__":
    main()
