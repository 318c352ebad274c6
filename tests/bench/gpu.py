#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One table of what the CUDA path does, in one run: parity with the CPU in float32,
latency, rows a second from CSV to CSV, device memory, requests a second of the server,
and torch in half precision beside it (ONNX Runtime too, where its GPU build is there).

usage: gpu.py [--dry] BUILD [BASE_MODEL]
BUILD holds the programs, bert-cuda.so and bench/serve_load; BASE_MODEL is a folder of the
shape of bert-base-chinese (one of random weights is written by random_model.py when none
is given). Needs a device and takes about five minutes; each step that fails is named, and
the others go on. --dry takes every step with little work over the emulated device
(make cuda-emulated) and peers on the CPU: its figures mean nothing."""

import argparse
import csv
import ctypes
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
NEWS = os.path.join(ROOT, "tests", "eval", "news-cloze.tsv")
VOCABULARY = os.path.join(ROOT, "data", "vocab", "bert-base-chinese-vocab.txt")
TINY = os.path.join(ROOT, "tests", "golden", "tiny", "f16")
STEP_SECONDS = 120  # that one program may take


class Sizes:
    """How much work a step does."""

    def __init__(self, dry):
        self.news = 5 if dry else None
        self.runs = 4 if dry else 300
        self.rows = {16: 12, 32: 8, 128: 3} if dry else {16: 400000, 32: 400000, 128: 100000}
        self.peer_rows = 64 if dry else 8192
        self.load = ("3", "1") if dry else ("50", "10")


def row(what, ours, torch="", ort="", goal=""):
    print(f"{what:42} {ours:>14} {torch:>14} {ort:>14}  {goal}", flush=True)


class Texts:
    """Texts of so many tokens ([CLS] and [SEP] included), one of them a mask, no two
    alike: windows into one long line of characters."""

    def __init__(self):
        with open(VOCABULARY, encoding="utf-8") as file:
            words = file.read().split("\n")
        han = [word for word in words if len(word) == 1 and "\u4e00" <= word <= "\u9fa5"]
        self.line = "".join(random.Random(7).choices(han, k=1 << 20))

    def get(self, tokens, number):
        body = self.line[number:number + tokens - 3]
        return body[:tokens // 2] + "[MASK]" + body[tokens // 2:]


class Programs:
    def __init__(self, build, model, dry):
        self.build = os.path.abspath(build)
        self.model = model
        folder = os.path.join(self.build, "emulated") if dry else self.build
        self.env = dict(os.environ, BERT_BACKEND_DIR=folder)

    def command(self, name, *args, model=None):
        return [os.path.join(self.build, name), "--no-config", "-m", model or self.model,
                *args]

    def start(self, name, *args, **pipes):
        return subprocess.Popen(self.command(name, *args), env=self.env, **pipes)

    def output(self, name, *args, model=None, **options):
        return subprocess.run(self.command(name, *args, model=model), env=self.env,
                              check=True, stdout=subprocess.PIPE, timeout=STEP_SECONDS,
                              **options).stdout.decode()


def compare(name, answers):
    """Equal first answers of CPU and CUDA, and how far apart their probabilities are."""
    pairs = list(zip(*answers))
    same = [abs(a[1] - b[1]) for a, b in pairs if a[0] == b[0]]
    row(f"equal first answers, {name}", f"{100 * len(same) / len(pairs):.2f} %",
        goal=">= 99.5 %")
    row("largest difference of probability", f"{max(same):.2g}", goal="<= 2e-3")


def parity(programs, model, sizes):
    """Through bert-fill (few rows: graphs) and bert-batch (many: launches)."""
    with open(NEWS, encoding="utf-8") as file:
        lines = file.read().splitlines()[:sizes.news and sizes.news + 1]
    text = "\n".join(lines).encode() + b"\n"
    fill, batch = [], []
    for device in ("--device=cpu", "--device=cuda"):
        common = (device, "--precision=f32", "--from=tsv", "-c", "text")
        output = programs.output("bert-fill", *common, "-k", "1", "--to=jsonl", model=model,
                                 input=text)
        best = [json.loads(line)["masks"][0]["candidates"][0]
                for line in output.splitlines()]
        fill.append([(a["id"], a["probability"]) for a in best])
        output = programs.output("bert-batch", *common, model=model, input=text)
        batch.append([(a["prediction"], float(a["confidence"]))
                      for a in csv.DictReader(output.splitlines(), delimiter="\t",
                                              quoting=csv.QUOTE_NONE)])
    compare("bert-fill", fill)
    compare("bert-batch", batch)


def latency(programs, tokens, texts, sizes):
    """Median milliseconds of a line through a running bert-fill, the pipe included."""
    fill = programs.start("bert-fill", "--device=cuda", "-k", "1", stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE)
    times = []
    for number in range(sizes.runs):
        line = texts.get(tokens, number).encode() + b"\n"
        begin = time.perf_counter()
        fill.stdin.write(line)
        fill.stdin.flush()
        fill.stdout.readline()
        times.append(1e3 * (time.perf_counter() - begin))
    fill.stdin.close()
    if fill.wait(STEP_SECONDS) != 0:
        raise RuntimeError("bert-fill failed")
    return statistics.median(times[sizes.runs // 6:])


def bulk(programs, tokens, texts, sizes):
    """Rows a second of bert-batch, CSV in and out, start-up taken off by a short run."""
    seconds = {}
    many = sizes.rows[tokens]
    few = many // 100 + 1
    with tempfile.TemporaryDirectory() as folder:
        for rows in (few, many):
            path = os.path.join(folder, f"{rows}.csv")
            with open(path, "w", encoding="utf-8") as file:
                file.write("id,text\n")
                file.writelines(f"{i},{texts.get(tokens, i)}\n" for i in range(rows))
            begin = time.perf_counter()
            programs.output("bert-batch", "--device=cuda", "-c", "text", "-o",
                            os.path.join(folder, "out.csv"), path)
            seconds[rows] = time.perf_counter() - begin
    return (many - few) / max(seconds[many] - seconds[few], 1e-9)


def memory_used():
    """MB of the device that are taken, by all."""
    run = subprocess.run(["nvidia-smi", "--query-gpu=memory.used", "-i", "0",
                          "--format=csv,noheader,nounits"], stdout=subprocess.PIPE, check=True)
    return int(run.stdout.decode().split()[0])


def hold_context():
    """A child's work: nothing but a CUDA context, until its input ends."""
    driver, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
    failed = driver.cuInit(0) or driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    print("failed" if failed else "ready", flush=True)
    sys.stdin.read()


def device_memory(programs, texts):
    """MB that bert-fill holds after answers, beyond those of a bare context."""
    before = memory_used()
    bare = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--hold-context", "."],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    ready = bare.stdout.readline()
    context = memory_used() - before
    bare.communicate()
    if ready != b"ready\n":
        raise RuntimeError("no bare context")
    fill = programs.start("bert-fill", "--device=cuda", stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE)
    for number in range(5):
        fill.stdin.write(texts.get(128, number).encode() + b"\n")
        fill.stdin.flush()
        fill.stdout.readline()
    held = memory_used() - before
    fill.communicate()
    row("device memory beyond a bare context", f"{held - context} MB", goal="<= 500 MB")


class Torch:
    """transformers in half precision with fused attention, on the device."""

    def __init__(self, folder, dry):
        import torch
        from transformers import BertForMaskedLM
        self.torch = torch
        self.device = "cpu" if dry else "cuda"
        model = BertForMaskedLM.from_pretrained(folder, attn_implementation="sdpa").eval()
        self.model = model if dry else model.half().to(self.device)

    def run(self, ids):
        with self.torch.inference_mode():
            logits = self.model(self.torch.tensor(ids).to(self.device)).logits
            best = self.torch.softmax(logits[:, len(ids[0]) // 2].float(), -1).topk(5)
            return best[1].cpu()


class Ort:
    """ONNX Runtime with its CUDA provider, the same model exported in half precision."""

    def __init__(self, folder, dry):
        import onnxruntime
        import torch
        from transformers import BertForMaskedLM
        provider = "CPUExecutionProvider" if dry else "CUDAExecutionProvider"
        if provider not in onnxruntime.get_available_providers():
            raise RuntimeError(f"no {provider}")
        model = BertForMaskedLM.from_pretrained(folder, attn_implementation="eager").eval()
        model = model if dry else model.half().cuda()
        model.config.return_dict = False
        ids = torch.ones(2, 16, dtype=torch.int64, device=model.device)
        with tempfile.TemporaryDirectory() as out:
            path = os.path.join(out, "model.onnx")
            shape = {0: "texts", 1: "tokens"}
            torch.onnx.export(model, (ids, torch.ones_like(ids)), path,
                              input_names=["ids", "mask"], output_names=["logits"],
                              dynamic_axes={"ids": shape, "mask": shape, "logits": shape},
                              dynamo=False)
            self.session = onnxruntime.InferenceSession(path, providers=[provider])

    def run(self, ids):
        import numpy
        ids = numpy.array(ids, dtype=numpy.int64)
        logits = self.session.run(None, {"ids": ids, "mask": numpy.ones_like(ids)})[0]
        return logits[:, ids.shape[1] // 2].argmax(-1)


def peer(make, folder, dry):
    try:
        return make(folder, dry)
    except Exception as problem:  # any absence is named, whatever it is
        print(f"{make.__name__}: absent ({type(problem).__name__}: {problem})"[:200])
        return None


def peer_seconds(model, tokens, texts, runs):
    rng = random.Random(tokens)
    seconds = []
    for _ in range(runs):
        ids = [[rng.randrange(1000, 1200) for _ in range(tokens)] for _ in range(texts)]
        begin = time.perf_counter()
        model.run(ids)
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds[runs // 5:])


def one_text(programs, peers, tokens, texts, sizes):
    beside = [f"{1e3 * peer_seconds(p, tokens, 1, sizes.runs):.2f} ms" if p else "absent"
              for p in peers]
    row(f"one text of {tokens} tokens",
        f"{latency(programs, tokens, texts, sizes):.2f} ms", *beside,
        "<= 0.6 ms" if tokens == 128 else "")


def many_texts(programs, peers, tokens, texts, sizes):
    count = max(sizes.peer_rows // tokens, 1)
    beside = [f"{count / peer_seconds(p, tokens, count, min(sizes.runs, 20)):,.0f}"
              if p else "absent" for p in peers]
    row(f"rows of {tokens} tokens a second, CSV to CSV",
        f"{bulk(programs, tokens, texts, sizes):,.0f}", *beside,
        ">= 60,000" if tokens == 32 else "")


def wait_for(port, server):
    body = json.dumps({"text": "今天天气真[MASK]啊。"}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/predict", body,
                                     {"Content-Type": "application/json"})
    end = time.monotonic() + 60
    while time.monotonic() < end and server.poll() is None:
        try:
            urllib.request.urlopen(request, timeout=30).read()
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the server did not start")


def serve(programs, peers, sizes, port=8765):
    """Requests a second of bert-serve; beside it what a peer does one after the other."""
    server = programs.start("bert-serve", "--device=cuda", f"--listen=127.0.0.1:{port}",
                            stderr=subprocess.DEVNULL)
    load = [os.path.join(programs.build, "bench", "serve_load"), str(port), *sizes.load]
    try:
        wait_for(port, server)
        said = subprocess.run(load, stdout=subprocess.PIPE, check=True,
                              timeout=STEP_SECONDS).stdout.decode().strip()
    finally:
        server.terminate()
        server.wait(STEP_SECONDS)
    beside = [f"{1 / peer_seconds(p, 16, 1, sizes.runs):,.0f}" if p else "absent"
              for p in peers]
    found = re.search(r"([\d.]+) a second", said)
    row(f"bert-serve, {sizes.load[0]} clients, a second", found.group(1) if found else "?",
        *beside, ">= 5 x torch")
    print(f"  {said}")


def step(name, function, *args):
    begin = time.monotonic()
    try:
        function(*args)
    except Exception as problem:  # the others go on
        print(f"FAILED: {name}: {type(problem).__name__}: {problem}", flush=True)
        return False
    print(f"  [{name}: {time.monotonic() - begin:.0f} s]", file=sys.stderr, flush=True)
    return True


def base_model(build, given, dry):
    if dry or given:
        return given or TINY
    base = os.path.join(build, "bench-work", "random-base")
    if not os.path.exists(os.path.join(base, "model.safetensors")):
        subprocess.run([sys.executable, os.path.join(HERE, "random_model.py"), base],
                       check=True)
    return base


def device_name():
    try:
        return subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version",
                               "--format=csv,noheader"],
                              stdout=subprocess.PIPE).stdout.decode().strip()
    except OSError:
        return "none"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dry", action="store_true")
    parser.add_argument("--hold-context", action="store_true")
    parser.add_argument("build")
    parser.add_argument("base", nargs="?")
    args = parser.parse_args()
    if args.hold_context:
        return hold_context()
    base, sizes, texts = base_model(args.build, args.base, args.dry), Sizes(args.dry), Texts()
    programs = Programs(args.build, base, args.dry)
    shipped = os.path.join(ROOT, "data", "models", "mini-zh.bert")
    judged = TINY if args.dry else os.environ.get("MODEL", shipped)
    print("device:", device_name())
    print(programs.output("bert-fill", "--version", "-v").strip())
    peers = [peer(Torch, base, args.dry), peer(Ort, base, args.dry)]
    row("", "bert-tools", "torch", "ONNX Runtime", "goal")
    done = [step("parity", parity, programs, judged, sizes)]
    for tokens in (16, 128):
        done.append(step("latency", one_text, programs, peers, tokens, texts, sizes))
    for tokens in sizes.rows:
        done.append(step("bulk", many_texts, programs, peers, tokens, texts, sizes))
    if not args.dry:
        done.append(step("memory", device_memory, programs, texts))
    done.append(step("serve", serve, programs, peers, sizes))
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main())
