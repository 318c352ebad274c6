#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One table of what the CUDA path does, in one run: parity with the CPU in float32,
latency, rows a second from CSV to CSV, device memory, requests a second of the server,
and torch in half precision beside it (ONNX Runtime too, where its GPU build is there).

usage: gpu.py BUILD [BASE_MODEL]
BUILD holds the programs and bert-cuda.so; BASE_MODEL is a bert-base-shaped folder (one of
random weights is written by random_model.py when none is given). Needs a device."""

import csv
import io
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
NEWS = os.path.join(ROOT, "tests", "eval", "news-cloze.tsv")
TOKENS = (16, 32, 128)
ROWS = {16: 400000, 32: 400000, 128: 100000}


def row(what, ours, peer="", goal=""):
    print(f"{what:44} {ours:>20} {peer:>20}  {goal}", flush=True)


def text_of(tokens, rng, characters):
    """A text of that many tokens, [CLS] and [SEP] included, one of them a mask."""
    body = [rng.choice(characters) for _ in range(tokens - 3)]
    body.insert(len(body) // 2, "[MASK]")
    return "".join(body)


class Programs:
    def __init__(self, build, model):
        self.build = os.path.abspath(build)
        self.model = model
        self.env = dict(os.environ, BERT_BACKEND_DIR=self.build)

    def command(self, name, *args, model=None):
        return [os.path.join(self.build, name), "--no-config", "-m", model or self.model,
                *args]

    def start(self, name, *args, **pipes):
        return subprocess.Popen(self.command(name, *args), env=self.env, **pipes)

    def output(self, name, *args, model=None):
        return subprocess.run(self.command(name, *args, model=model), env=self.env,
                              check=True, stdout=subprocess.PIPE).stdout


def parity(programs, model):
    """Equal first answers, and the largest difference of their probability."""
    answers = []
    for device in ("--device=cpu", "--device=cuda"):
        lines = programs.output("bert-fill", device, "--precision=f32", "--from=tsv", "-c",
                                "text", "-k", "1", "--to=jsonl", NEWS, model=model)
        answers.append([json.loads(line)["masks"][0]["candidates"][0]
                        for line in lines.decode().splitlines()])
    pairs = list(zip(*answers))
    equal = [a["id"] == b["id"] for a, b in pairs]
    apart = max(abs(a["probability"] - b["probability"])
                for (a, b), same in zip(pairs, equal) if same)
    row("equal first answers, news-cloze", f"{100 * sum(equal) / len(equal):.2f} %", "",
        ">= 99.5 %")
    row("largest difference of probability", f"{apart:.2g}", "", "<= 2e-3")


def latency(programs, tokens, characters):
    """Median milliseconds of a line through a running bert-fill, the pipe included."""
    rng = random.Random(tokens)
    fill = programs.start("bert-fill", "--device=cuda", "-k", "1", stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE)
    times = []
    for _ in range(300):
        line = text_of(tokens, rng, characters).encode() + b"\n"
        begin = time.perf_counter()
        fill.stdin.write(line)
        fill.stdin.flush()
        fill.stdout.readline()
        times.append(1e3 * (time.perf_counter() - begin))
    fill.stdin.close()
    fill.wait()
    return statistics.median(times[50:])


def bulk(programs, tokens, characters):
    """Rows a second of bert-batch, CSV in and out, start-up taken off by a short run."""
    rng = random.Random(tokens)
    seconds = {}
    for rows in (1000, ROWS[tokens]):
        with tempfile.NamedTemporaryFile("w", suffix=".csv", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "text"])
            writer.writerows((i, text_of(tokens, rng, characters)) for i in range(rows))
            file.flush()
            begin = time.perf_counter()
            programs.output("bert-batch", "--device=cuda", "-c", "text", file.name)
            seconds[rows] = time.perf_counter() - begin
    few, many = sorted(seconds)
    return (many - few) / (seconds[many] - seconds[few])


def device_memory(programs, characters):
    """MB that the process holds on the device after an answer, by nvidia-smi."""
    fill = programs.start("bert-fill", "--device=cuda", stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE)
    fill.stdin.write(text_of(16, random.Random(1), characters).encode() + b"\n")
    fill.stdin.flush()
    fill.stdout.readline()
    apps = subprocess.run(["nvidia-smi", "--query-compute-apps=pid,used_memory",
                           "--format=csv,noheader,nounits"], stdout=subprocess.PIPE)
    fill.stdin.close()
    fill.wait()
    held = [int(fields[1]) for fields in csv.reader(io.StringIO(apps.stdout.decode()))
            if fields and int(fields[0]) == fill.pid]
    return held[0] if held else None


class Torch:
    """transformers in half precision with fused attention, on the device."""

    def __init__(self, folder):
        import torch
        from transformers import BertForMaskedLM
        self.torch = torch
        self.model = BertForMaskedLM.from_pretrained(
            folder, torch_dtype=torch.float16, attn_implementation="sdpa").eval().cuda()

    def run(self, ids):
        with self.torch.inference_mode():
            device = self.torch.tensor(ids).cuda()
            logits = self.model(device).logits[:, len(ids[0]) // 2]
            return self.torch.softmax(logits.float(), -1).topk(5)[1].cpu()

    def times(self, tokens, texts, runs):
        rng = random.Random(tokens)
        seconds = []
        for _ in range(runs):
            ids = [[rng.randrange(1000, 20000) for _ in range(tokens)] for _ in range(texts)]
            begin = time.perf_counter()
            self.run(ids)
            seconds.append(time.perf_counter() - begin)
        return statistics.median(seconds[runs // 5:])


def torch_peer(folder):
    try:
        return Torch(folder)
    except Exception as problem:  # any absence is named, whatever it is
        print(f"torch on the device: absent ({type(problem).__name__}: {problem})")
        return None


def bare_context():
    """MB that a process with nothing but a CUDA context holds, by torch; None without."""
    code = ("import os, subprocess, torch; torch.zeros(1).cuda(); torch.cuda.synchronize();"
            "print(subprocess.run(['nvidia-smi', '--query-compute-apps=pid,used_memory',"
            "'--format=csv,noheader,nounits'], stdout=subprocess.PIPE).stdout.decode());"
            "print('me', os.getpid())")
    run = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE)
    lines = run.stdout.decode().splitlines()
    me = [line.split()[1] for line in lines if line.startswith("me ")]
    held = [line.split(",")[1] for line in lines if me and line.startswith(me[0] + ",")]
    return int(held[0]) if held else None


def serve(programs, port=8765):
    """Requests a second of bert-serve, 50 clients, all texts different."""
    server = programs.start("bert-serve", "--device=cuda", f"--listen=127.0.0.1:{port}")
    load = [os.path.join(programs.build, "bench", "serve_load"), str(port), "50", "10"]
    try:
        time.sleep(10)
        print(subprocess.run(load, stdout=subprocess.PIPE, check=True).stdout.decode().strip())
    finally:
        server.terminate()
        server.wait()


def main():
    build, base = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
    if base is None:
        base = os.path.join(build, "bench-work", "random-base")
        if not os.path.exists(os.path.join(base, "model.safetensors")):
            subprocess.run([sys.executable, os.path.join(HERE, "random_model.py"), base],
                           check=True)
    programs = Programs(build, base)
    with open(os.path.join(ROOT, "data", "vocab", "bert-base-chinese-vocab.txt"),
              encoding="utf-8") as file:
        characters = [word for word in file.read().split("\n")
                      if len(word) == 1 and "\u4e00" <= word <= "\u9fa5"]
    gpu = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version",
                          "--format=csv,noheader"], stdout=subprocess.PIPE)
    print("device:", gpu.stdout.decode().strip())
    row("", "bert-tools", "torch, half, SDPA", "goal")
    parity(programs, os.environ.get("MODEL") or os.path.join(ROOT, "data/models/mini-zh.bert"))
    torch = torch_peer(base)
    for tokens in (16, 128):
        peer = f"{1e3 * torch.times(tokens, 1, 200):.2f} ms" if torch else ""
        row(f"one text of {tokens} tokens", f"{latency(programs, tokens, characters):.2f} ms",
            peer, "128 tokens: <= 0.6 ms")
    for tokens in TOKENS:
        texts = 8192 // tokens
        peer = f"{texts / torch.times(tokens, texts, 30):,.0f}" if torch else ""
        row(f"rows of {tokens} tokens a second, from CSV",
            f"{bulk(programs, tokens, characters):,.0f}", peer, "32 tokens: >= 60,000")
    held, bare = device_memory(programs, characters), bare_context()
    row("device memory beside the bare context",
        f"{held - bare} MB" if held and bare else f"{held} MB in all", "", "<= 500 MB")
    serve(programs)


if __name__ == "__main__":
    main()
