#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Copies a Hugging Face folder and puts the outliers of real BERTs into it, exactly: what
is added in one place is taken off in the next, so the answers in f32 stay the same, while
ranges grow that int8 has to represent. outliers.py SOURCE TARGET

After each LayerNorm a few channels of β gain 30, and the layers that read them lose it
again. A few rows of each value projection grow eightfold, and the columns of the output
projection that meet them shrink as much."""

import array
import json
import os
import random
import shutil
import struct
import sys

SHIFT, FACTOR, CHANNELS, ROWS = 30.0, 8.0, 3, 6


def read_floats(kind, data):
    if kind == "F16":
        return array.array("f", struct.unpack(f"<{len(data) // 2}e", data))
    if kind == "BF16":
        data = b"".join(b"\0\0" + data[i : i + 2] for i in range(0, len(data), 2))
    elif kind != "F32":
        sys.exit(f"outliers: cannot read {kind}")
    floats = array.array("f", data)
    if sys.byteorder == "big":
        floats.byteswap()
    return floats


class Model:
    """The tensors of model.safetensors by name, without the prefix that some files have."""

    def __init__(self, path):
        with open(path, "rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
            data = file.read()
        self.shapes, self.tensors, self.names = {}, {}, {}
        for name, entry in header.items():
            if name == "__metadata__" or entry["dtype"] not in ("F32", "F16", "BF16"):
                continue
            begin, end = entry["data_offsets"]
            self.shapes[name] = entry["shape"]
            self.tensors[name] = read_floats(entry["dtype"], data[begin:end])
            short = name[5:] if name.startswith("bert.") else name
            short = short.replace("LayerNorm.gamma", "LayerNorm.weight")
            self.names[short.replace("LayerNorm.beta", "LayerNorm.bias")] = name

    def __getitem__(self, name):
        return self.tensors[self.names[name]]

    def width(self, name):
        return self.shapes[self.names[name]][1]

    def write(self, path):
        header, offset = {}, 0
        for name, floats in self.tensors.items():
            end = offset + 4 * len(floats)
            header[name] = {"dtype": "F32", "shape": self.shapes[name],
                            "data_offsets": [offset, end]}
            offset = end
        head = json.dumps(header).encode()
        head += b" " * (-len(head) % 8)
        with open(path, "wb") as file:
            file.write(len(head).to_bytes(8, "little") + head)
            for floats in self.tensors.values():
                if sys.byteorder == "big":
                    floats.byteswap()
                floats.tofile(file)


def lose(model, linear, channel):
    """The linear layer gives what it gave before its input's channel gained SHIFT."""
    weight, bias = model[linear + ".weight"], model[linear + ".bias"]
    width = model.width(linear + ".weight")
    for out in range(len(bias)):
        bias[out] -= SHIFT * weight[out * width + channel]


def shift(model, norm, readers, residual, channels):
    """residual: the layer whose output is added to the shifted stream, or None."""
    for channel in channels:
        model[norm + ".bias"][channel] += SHIFT
        for reader in readers:
            lose(model, reader, channel)
        if residual:
            model[residual + ".bias"][channel] -= SHIFT


def grow_values(model, layer, rows):
    value, output = layer + "attention.self.value", layer + "attention.output.dense"
    width = model.width(value + ".weight")
    for row in rows:
        model[value + ".bias"][row] *= FACTOR
        for i in range(row * width, (row + 1) * width):
            model[value + ".weight"][i] *= FACTOR
        weight = model[output + ".weight"]
        for i in range(row, len(weight), width):
            weight[i] /= FACTOR


def put_outliers(model, layers, hidden):
    draw = random.Random(7)
    for i in range(layers):
        layer, following = f"encoder.layer.{i}.", f"encoder.layer.{i + 1}."
        shift(model, layer + "attention.output.LayerNorm", [layer + "intermediate.dense"],
              layer + "output.dense", draw.sample(range(hidden), CHANNELS))
        channels = draw.sample(range(hidden), CHANNELS)
        if i + 1 < layers:
            readers = [following + "attention.self." + part
                       for part in ("query", "key", "value")]
            shift(model, layer + "output.LayerNorm", readers,
                  following + "attention.output.dense", channels)
        else:
            shift(model, layer + "output.LayerNorm", ["cls.predictions.transform.dense"],
                  None, channels)
        grow_values(model, layer, draw.sample(range(hidden), ROWS))


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: outliers.py SOURCE TARGET")
    source, target = sys.argv[1:]
    os.makedirs(target, exist_ok=True)
    for name in os.listdir(source):
        if name.endswith((".json", ".txt")) and "index" not in name:
            shutil.copyfile(os.path.join(source, name), os.path.join(target, name))
    with open(os.path.join(source, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    model = Model(os.path.join(source, "model.safetensors"))
    put_outliers(model, config["num_hidden_layers"], config["hidden_size"])
    model.write(os.path.join(target, "model.safetensors"))


if __name__ == "__main__":
    main()
