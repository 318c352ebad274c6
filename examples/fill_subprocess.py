# SPDX-License-Identifier: MIT
"""Texts from Python, without any package: one process for many texts, JSON lines back."""
import json
import subprocess


def fill(texts, *options):
    """The masks of each text, each with its candidates; None for a text that failed."""
    lines = "".join(text.replace("\n", " ") + "\n" for text in texts)
    process = subprocess.run(["bert-fill", "--to=jsonl", *options], input=lines, text=True,
                             encoding="utf-8", stdout=subprocess.PIPE)
    if process.returncode > 1:  # 1: some texts failed; the objects say which
        process.check_returncode()
    return [json.loads(line).get("masks") for line in process.stdout.splitlines()]


if __name__ == "__main__":
    for masks in fill(["今天天气真[MASK]啊", "房间很干[MASK]，早餐也很[MASK]。"], "-k", "1"):
        print(" ".join(mask["candidates"][0]["word"] for mask in masks))
