#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tokenizer_bench.py [BUILD]: our tokenizer beside Hugging Face's Rust one (the Python
package tokenizers), both on one core, over the reviews of tests/csv, taking turns. Prints
MB/s of each and the ratio; without the package, ours alone. Exits with 1 when the two
count other tokens."""
import csv
import os
import subprocess
import sys
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
VOCABULARY = "data/vocab/bert-base-chinese-vocab.txt"
TURNS = 3


def their_tokenizer():
    try:
        from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    except ImportError:
        return None
    with open(VOCABULARY, encoding="utf-8", newline="\n") as file:
        ids = {line: i for i, line in enumerate(file.read().rstrip("\n").split("\n"))}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    return tokenizer


def their_pass(tokenizer, lines, size):
    start = time.perf_counter()
    encodings = tokenizer.encode_batch(lines, add_special_tokens=False)
    speed = size / (time.perf_counter() - start) / 1e6
    return sum(len(e.ids) for e in encodings), speed


def our_pass(program, path):
    words = subprocess.run([program, VOCABULARY, path], check=True, capture_output=True,
                           text=True).stdout.split()
    return int(words[0]), float(words[2])


def main():
    build = sys.argv[1] if len(sys.argv) > 1 else "build"
    with open("tests/csv/reviews-5000.csv", encoding="utf-8", newline="") as file:
        lines = [row["review"].replace("\n", " ") for row in csv.DictReader(file)]
    text = "\n".join(lines).encode()
    tokenizer = their_tokenizer()
    ours, theirs = [], []
    with tempfile.NamedTemporaryFile(suffix=".txt") as file:
        file.write(text)
        file.flush()
        for _ in range(TURNS):
            ours.append(our_pass(build + "/bench/tokenizer_bench", file.name))
            if tokenizer is not None:
                theirs.append(their_pass(tokenizer, lines, len(text)))
    speed = max(s for _, s in ours)
    print(f"tokenizer: {speed:.0f} MB/s of Chinese text on one core (goal: 50)")
    if tokenizer is None:
        print("tokenizer: the Python package tokenizers is absent, no comparison")
        return 0
    their_speed = max(s for _, s in theirs)
    print(f"tokenizer: Hugging Face tokenizers {their_speed:.2f} MB/s, "
          f"ours is {speed / their_speed:.0f} times as fast (goal: 20)")
    if ours[0][0] != theirs[0][0]:
        print(f"tokenizer: {ours[0][0]} tokens, theirs {theirs[0][0]}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
