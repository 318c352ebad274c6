# SPDX-License-Identifier: MIT
"""Called by tests/bench/run with an empty folder."""

import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TINY = os.path.join(HERE, "../golden/tiny")
FILL = os.path.join(os.environ["B"], "bert-fill")
sys.path.insert(0, HERE)
import outliers  # noqa: E402


def fill(model, precision, texts):
    """For each mask {id: probability} of its best."""
    command = [FILL, "--no-config", "--model", model, "--precision=" + precision,
               "--to=jsonl", "-k", "50"]
    result = subprocess.run(command, input="".join(t + "\n" for t in texts).encode(),
                            stdout=subprocess.PIPE, check=True)
    return [{c["id"]: c["probability"] for c in mask["candidates"]}
            for line in result.stdout.splitlines() for mask in json.loads(line)["masks"]]


def golden_texts():
    with open(os.path.join(TINY, "expected.jsonl"), encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    return [line["text"] for line in lines if line["model"] == "f32"]


def greatest_difference(a, b):
    """Over the five best of a."""
    most = 0
    for x, y in zip(a, b, strict=True):
        for token in sorted(x, key=x.get)[-5:]:
            most = max(most, abs(x[token] - y.get(token, 0)))
    return most


def outliers_keep_f32(work):
    copy = os.path.join(work, "outliers")
    source = os.path.join(TINY, "f32")
    subprocess.run([sys.executable, os.path.join(HERE, "outliers.py"), source, copy],
                   check=True)
    texts = golden_texts()
    answers = fill(source, "f32", texts)
    assert len(answers) >= len(texts)
    difference = greatest_difference(answers, fill(copy, "f32", texts))
    assert difference <= 1e-4, f"f32 answers moved by {difference}"
    before, after = (outliers.Model(os.path.join(folder, "model.safetensors"))
                     for folder in (source, copy))
    norm, value = "encoder.layer.0.output.LayerNorm.bias", \
        "encoder.layer.0.attention.self.value.weight"
    assert max(after[norm]) > 29 > max(before[norm]), "no channel was shifted"
    assert max(map(abs, after[value])) > 2 * max(map(abs, before[value])), "no row grew"


def random_model_runs(work):
    model = os.path.join(work, "random")
    subprocess.run([sys.executable, os.path.join(HERE, "random_model.py"), model,
                    "--layers", "1", "--hidden", "64"], check=True)
    for precision in ("f32", "f16", "int8"):
        (answer,) = fill(model, precision, ["今天天气真[MASK]啊"])
        assert len(answer) == 50 and 0 < sum(answer.values()) < 1


def main():
    passed = failed = 0
    for test in (outliers_keep_f32, random_model_runs):
        try:
            test(sys.argv[1])
            passed += 1
        except Exception as why:
            print(f"FAIL: {test.__name__}: {type(why).__name__}: {why}")
            failed += 1
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
