#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the seed corpora of the model readers. usage: make_seeds.py BERT_CONVERT
(needs torch and safetensors; the files that it wrote are committed)"""

import collections
import json
import os
import subprocess
import sys
import tempfile
import zipfile

import torch
from safetensors.torch import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
TINY = os.path.join(HERE, "../golden/tiny")


def seed(target, name, data):
    folder = os.path.join(HERE, "corpus", target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def micro_model(folder):
    """One layer, four wide: every tensor of a BERT in a few kilobytes."""
    hidden, vocabulary, state = 4, 6, {}
    e, layer = "bert.embeddings.", "bert.encoder.layer.0."
    for name, rows in (("word", vocabulary), ("position", 8), ("token_type", 2)):
        state[e + name + "_embeddings.weight"] = torch.randn(rows, hidden)
    linears = [(layer + f"attention.self.{n}", hidden, hidden) for n in ("query", "key", "value")]
    linears += [(layer + "attention.output.dense", hidden, hidden),
                (layer + "intermediate.dense", 8, hidden), (layer + "output.dense", hidden, 8),
                ("cls.predictions.transform.dense", hidden, hidden)]
    for name, out, width in linears:
        state[name + ".weight"], state[name + ".bias"] = torch.randn(out, width), torch.randn(out)
    for name in (e, layer + "attention.output.", layer + "output.", "cls.predictions.transform."):
        state[name + "LayerNorm.weight"] = torch.ones(hidden)
        state[name + "LayerNorm.bias"] = torch.zeros(hidden)
    state["cls.predictions.bias"] = torch.zeros(vocabulary)
    save_file(state, folder + "/model.safetensors", metadata={"format": "pt"})
    with open(folder + "/vocab.txt", "w", encoding="utf-8") as file:
        file.write("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n天\n")
    with open(folder + "/config.json", "w", encoding="utf-8") as file:
        json.dump({"hidden_size": hidden, "num_hidden_layers": 1, "num_attention_heads": 1,
                   "intermediate_size": 8, "vocab_size": vocabulary,
                   "max_position_embeddings": 8, "type_vocab_size": 2}, file)


def main():
    torch.manual_seed(1)
    small = collections.OrderedDict(a=torch.arange(4.), b=torch.ones(2, 3).t().half())
    with tempfile.TemporaryDirectory() as folder:
        micro_model(folder)
        seed("safetensors", "micro", read(folder + "/model.safetensors"))
        seed("config", "micro", read(folder + "/config.json"))
        for precision in ("int8", "f16", "f32"):
            out = f"{folder}/{precision}.bert"
            subprocess.run([sys.argv[1], folder, "-o", out, "--precision=" + precision],
                           check=True, stdout=subprocess.DEVNULL)
            seed("bertfile", precision, read(out))
        save_file({"x": torch.ones(2, dtype=torch.bfloat16)}, folder + "/x")
        seed("safetensors", "one", read(folder + "/x"))
        torch.save(small, folder + "/zip")
        seed("torch_zip", "small", read(folder + "/zip"))
        seed("pickle", "small", zipfile.ZipFile(folder + "/zip").read("zip/data.pkl"))
        torch.save(small, folder + "/old", _use_new_zipfile_serialization=False)
        seed("torch_legacy", "small", read(folder + "/old"))
    seed("config", "tiny", read(TINY + "/untied/config.json"))
    seed("config", "tokenizer", read(TINY + "/f32/tokenizer_config.json"))
    index = read(TINY + "/tf/bert_model.ckpt.index")
    seed("tf_index", "tiny", index)
    seed("tf_index", "block", index[:2799])
    seed("pickle", "tiny",
         zipfile.ZipFile(TINY + "/bin-zip/pytorch_model.bin").read("pytorch_model/data.pkl"))


main()
