#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a Hugging Face folder of the shape of bert-base-chinese with random weights, good
for timing only. Needs nothing but Python: random_model.py FOLDER [--layers N --hidden N]"""

import argparse
import array
import json
import os
import random
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
VOCABULARY = os.path.join(HERE, "../../data/vocab/bert-base-chinese-vocab.txt")


def shapes(layers, hidden, up, vocabulary, positions):
    """Name, shape and centre of each tensor."""
    embeddings = "bert.embeddings."
    yield embeddings + "word_embeddings.weight", (vocabulary, hidden), 0
    yield embeddings + "position_embeddings.weight", (positions, hidden), 0
    yield embeddings + "token_type_embeddings.weight", (2, hidden), 0
    norms = [embeddings + "LayerNorm"]
    linears = []
    for i in range(layers):
        layer = f"bert.encoder.layer.{i}."
        for part in ("query", "key", "value"):
            linears.append((layer + "attention.self." + part, hidden, hidden))
        linears.append((layer + "attention.output.dense", hidden, hidden))
        norms.append(layer + "attention.output.LayerNorm")
        linears.append((layer + "intermediate.dense", up, hidden))
        linears.append((layer + "output.dense", hidden, up))
        norms.append(layer + "output.LayerNorm")
    linears.append(("cls.predictions.transform.dense", hidden, hidden))
    norms.append("cls.predictions.transform.LayerNorm")
    for name, out, width in linears:
        yield name + ".weight", (out, width), 0
        yield name + ".bias", (out,), 0
    for name in norms:
        yield name + ".weight", (hidden,), 1
        yield name + ".bias", (hidden,), 0
    yield "cls.predictions.bias", (vocabulary,), 0


def size_of(shape):
    size = 1
    for n in shape:
        size *= n
    return size


class Weights:
    """Floats around a centre. Drawing each would take minutes; a large pool is drawn once
    and read in runs from random places."""

    POOL = 1 << 19

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.pools = {}

    def pool(self, centre):
        if centre not in self.pools:
            draw = self.random.gauss
            floats = array.array("f", (draw(centre, 0.03) for _ in range(self.POOL)))
            if sys.byteorder == "big":
                floats.byteswap()
            self.pools[centre] = floats
        return self.pools[centre]

    def write(self, file, count, centre):
        pool = self.pool(centre)
        while count > 0:
            begin = self.random.randrange(self.POOL)
            run = pool[begin : begin + count]
            run.tofile(file)
            count -= len(run)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--hidden", type=int, default=768)
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    with open(VOCABULARY, encoding="utf-8") as file:
        vocabulary = sum(1 for _ in file)
    up, heads = 4 * options.hidden, max(1, options.hidden // 64)
    config = {
        "architectures": ["BertForMaskedLM"], "model_type": "bert", "hidden_act": "gelu",
        "hidden_size": options.hidden, "num_hidden_layers": options.layers,
        "num_attention_heads": heads, "intermediate_size": up,
        "vocab_size": vocabulary, "max_position_embeddings": 512, "type_vocab_size": 2,
        "layer_norm_eps": 1e-12, "pad_token_id": 0,
    }
    header, offset = {}, 0
    tensors = list(shapes(options.layers, options.hidden, up, vocabulary, 512))
    for name, shape, _ in tensors:
        end = offset + 4 * size_of(shape)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [offset, end]}
        offset = end
    head = json.dumps(header).encode()
    head += b" " * (-(len(head) + 8) % 64)
    weights = Weights(1)
    path = os.path.join(options.folder, "model.safetensors")
    with open(path + ".part", "wb") as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for _, shape, centre in tensors:
            weights.write(file, size_of(shape), centre)
    with open(os.path.join(options.folder, "config.json"), "w") as file:
        json.dump(config, file, indent=1)
    with open(os.path.join(options.folder, "tokenizer_config.json"), "w") as file:
        json.dump({"do_lower_case": False}, file)
    shutil.copyfile(VOCABULARY, os.path.join(options.folder, "vocab.txt"))
    os.replace(path + ".part", path)


if __name__ == "__main__":
    main()
