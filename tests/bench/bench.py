#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times bert-tools beside other runtimes in one run. Every round gives each contender the
same new text, one after the other, so that what else the machine does hits all alike; the
ratios decide. tests/bench/bench runs this."""

import argparse
import os
import random
import statistics
import subprocess
import sys
import time
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # idle torch threads must not spin
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
import peers as others  # noqa: E402

BULK_TOKENS = 16


class Ours:
    """bench_nn at the other end of a pipe."""

    def __init__(self, program, models, table):
        command = [program] + models + ([table] if table else [])
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def ask(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit("bench: bench_nn ended")
        return answer.strip()

    def number(self, *words):
        return float(self.ask(*words))


class OurPrecision:
    def __init__(self, ours, precision, threads):
        self.ours, self.precision, self.threads = ours, precision, threads

    def latency(self, text):
        return self.ours.number("latency", self.precision, self.threads, len(text),
                                random.randrange(1 << 30))

    def bulk(self, texts):
        return self.ours.number("bulk", self.precision, self.threads, len(texts[0]),
                                len(texts))


def make_text(characters, tokens):
    text = [101] + random.choices(characters, k=tokens - 2) + [102]
    text[tokens // 2] = 103
    return text


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def interleave(contenders, call, rounds, seconds):
    """Times of each contender. call(contender) measures once."""
    times = {name: [] for name, _ in contenders}
    for name, contender in contenders:
        call(contender)  # warm
    begin = time.perf_counter()
    for turn in range(rounds):
        if turn >= 5 and time.perf_counter() - begin > seconds:
            break
        for name, contender in contenders:
            time.sleep(0.003)  # whoever still spins stops
            times[name].append(call(contender))
    return times


def print_row(row):
    print("| " + " | ".join(row) + " |", flush=True)


def print_head(head):
    print_row(head)
    print("|" + "---|" * len(head))


def cell(times, unit):
    median, low, high = (statistics.median(times), min(times), percentile(times, 0.95))
    if unit == "ms":
        return f"{median * 1e3:.1f} ({low * 1e3:.1f}–{high * 1e3:.1f})"
    return f"{unit / median:.0f} ({unit / high:.0f}–{unit / low:.0f})"


def ratios(times):
    """ours f32 / ONNX Runtime f32, ours int8 / the fastest peer."""
    median = {name: statistics.median(t) for name, t in times.items()}
    rest = [m for name, m in median.items() if not name.startswith("ours")]
    base = median.get("ONNX Runtime f32")
    f32 = f"{median['ours f32'] / base:.2f}" if base and "ours f32" in median else "-"
    int8 = f"{median['ours int8'] / min(rest):.2f}" if rest and "ours int8" in median else "-"
    return [f32, int8]


def compare(contenders, threads, options, characters):
    names = [name for name, _ in contenders]
    head = ["tokens"] + names + ["ours f32 : ORT f32", "ours int8 : best peer"]
    plural = "thread" if threads == 1 else "threads"
    print(f"\n### One text, {threads} {plural}: milliseconds, median (least–p95)\n")
    print_head(head)
    for tokens in options.tokens:
        def call(contender):
            return contender.latency(make_text(characters, tokens))
        times = interleave(contenders, call, options.rounds, options.seconds)
        print_row([str(tokens)] + [cell(times[n], "ms") for n in names] + ratios(times))
    print(f"\n### Bulk, {threads} {plural}: texts a second, median (p95–best)\n")
    print_head(head)
    for tokens in options.bulk:
        count = max(16, min(256, options.bulk_tokens // tokens))
        texts = [make_text(characters, tokens) for _ in range(count)]
        times = interleave(contenders, lambda c: c.bulk(texts), options.rounds,
                           options.seconds)
        print_row([str(tokens)] + [cell(times[n], count) for n in names] + ratios(times))


def machine_shares(ours, options):
    """Linear layers against what the machine can do, measured turn about."""
    print("\n### Linear layers alone: share of peak operations and of the read rate\n")
    print_head(["precision", "threads", "tokens", "ms", "Gop/s", "of peak", "GB/s",
                "of read rate"])
    for precision in options.precisions:
        kind = "int8" if precision == "int8" else "f32"
        size = ours.number("weights", precision)
        operations = 2 * size / {"f32": 4, "f16": 2, "int8": 1}[precision]
        for threads in options.threads:
            for tokens in options.tokens:
                linear, peak, read = [], [], []
                for _ in range(5):
                    linear.append(ours.number("linear", precision, threads, tokens))
                    peak.append(ours.number("peak", kind, threads))
                    read.append(ours.number("read", int(size), threads))
                seconds = statistics.median(linear)
                rate, top = operations * tokens / seconds, max(peak)
                flow, most = size / seconds, max(read)
                print_row([precision, str(threads), str(tokens), f"{seconds * 1e3:.2f}",
                           f"{rate / 1e9:.0f}", f"{rate / top:.0%}" if top else "-",
                           f"{flow / 1e9:.1f}", f"{flow / most:.0%}"])


def scaling(ours, options):
    """Two threads against one, beside the same ratio of the peaks."""
    if 1 not in options.threads or 2 not in options.threads:
        return
    print("\n### Two threads against one\n")
    print_head(["precision", "work", "gain", "gain of the peaks", "share"])
    for precision in options.precisions:
        kind = "int8" if precision == "int8" else "f32"
        for work in (("latency", 128), ("bulk", BULK_TOKENS)):
            gains, peaks = [], []
            for turn in range(7):
                last = 128 if work[0] == "bulk" else turn
                one, two = (ours.number(work[0], precision, n, work[1], last)
                            for n in (1, 2))
                peak = [ours.number("peak", kind, n) for n in (1, 2)]
                gains.append(one / two)
                peaks.append(peak[1] / peak[0] if peak[0] else 0)
            gain, most = statistics.median(gains), statistics.median(peaks)
            print_row([precision, f"{work[0]}, {work[1]} tokens", f"{gain:.2f}",
                       f"{most:.2f}", f"{gain / most:.0%}" if most else "-"])


def our_models(options):
    """The folder, and model.bert files of the lower precisions made from it."""
    models = [options.model]
    for precision in ("f16", "int8"):
        path = os.path.join(options.work, precision + ".bert")
        if not os.path.exists(path):
            subprocess.run([options.convert, options.model, "-q", "-o", path,
                            "--precision=" + precision], check=True)
        models.append(path)
    return models


def numbers(text):
    return [int(n) for n in text.split(",")] if text else []


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--program", required=True, help="bench_nn")
    add("--convert", required=True, help="bert-convert")
    add("--model", required=True, help="Hugging Face folder")
    add("--work", required=True, help="where exported models are kept")
    add("--table", help="kernel table by name")
    add("--precisions", type=lambda t: t.split(","), default=["f32", "f16", "int8"])
    add("--tokens", type=numbers, default=[8, 16, 32, 64, 128, 256, 512])
    add("--bulk", type=numbers, default=[BULK_TOKENS, 64])
    add("--bulk-tokens", type=int, default=4096, help="tokens of one bulk measurement")
    add("--threads", type=numbers, default=[2, 1])
    add("--rounds", type=int, default=25)
    add("--seconds", type=float, default=15, help="about how long for a line of the table")
    add("--peers", default="", help="parts of names, comma-separated; none: all")
    add("--no-peers", action="store_true")
    add("--no-shares", action="store_true")
    add("--seed", type=int, default=1)
    return parser.parse_args()


def main():
    options = parse()
    warnings.filterwarnings("ignore")
    random.seed(options.seed)
    with open(os.path.join(options.model, "vocab.txt"), encoding="utf-8") as file:
        tokens = file.read().split("\n")
    characters = [i for i, t in enumerate(tokens) if len(t) == 1 and "一" <= t <= "龥"]
    ours = Ours(options.program, our_models(options), options.table)
    print(f"kernels: {ours.ask('kernel')}; {os.cpu_count()} cores; model: "
          f"{os.path.basename(os.path.normpath(options.model))}", flush=True)
    for threads in options.threads:
        found, absent = ([], []) if options.no_peers else others.open_all(
            options.model, options.work, threads, options.peers.split(",") if options.peers
            else [])
        for name, why in absent:
            print(f"absent: {name} ({why})")
        mine = [("ours " + p, OurPrecision(ours, p, threads)) for p in options.precisions]
        compare(mine + found, threads, options, characters)
    if not options.no_shares:
        machine_shares(ours, options)
        scaling(ours, options)


if __name__ == "__main__":
    main()
