# SPDX-License-Identifier: MIT
"""Writes words.jsonl: lists of words, spans, joint fillings and pseudo-log-likelihoods by
brute force over transformers' model, one sequence at a time in the sense of the definition:
log p = sum of log p(token | the fillings to its left in place, all others masked).

usage: make_words.py MODEL_DIR NEWS_TSV OUT      (torch, transformers)"""
import json
import re
import sys

import torch
from transformers import BertForMaskedLM, BertTokenizerFast

folder, news, out = sys.argv[1:4]
tokenizer = BertTokenizerFast.from_pretrained(folder)
model = BertForMaskedLM.from_pretrained(folder).eval()
MASK, UNK = tokenizer.mask_token_id, tokenizer.unk_token_id
vocabulary = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
plain = torch.tensor([not re.fullmatch(r"\[.+\]|<[ST]>", t) for t in vocabulary])


@torch.no_grad()
def log_p(sequences, position):
    """(sequences, vocabulary): log probabilities at one position of each."""
    parts = [model(input_ids=torch.tensor(sequences[i:i + 512])).logits[:, position]
             for i in range(0, len(sequences), 512)]
    return torch.log_softmax(torch.cat(parts).double(), -1)


def encode(text, widths=None):
    """Ids with the i-th mask widened to widths[i], and the positions of each one's slots."""
    ids, slots = [], []
    for i in tokenizer(text)["input_ids"]:
        if i != MASK:
            ids.append(i)
            continue
        width = widths[len(slots)] if widths else 1
        slots.append(list(range(len(ids), len(ids) + width)))
        ids += [MASK] * width
    return ids, slots


def put(ids, slots, tokens):
    ids = list(ids)
    for slot, token in zip(slots, tokens):
        ids[slot] = token
    return ids


def score(ids, slots, tokens):
    return sum(log_p([put(ids, slots, tokens[:i])], slots[i])[0, tokens[i]].item()
               for i in range(len(tokens)))


def words(text, listed):
    masks = []
    for m in range(text.count("[MASK]")):
        found = []
        for word in listed:
            tokens = tokenizer(word, add_special_tokens=False)["input_ids"]
            widths = [1] * text.count("[MASK]")
            widths[m] = len(tokens)
            ids, slots = encode(text, widths)
            found.append({"word": word, "log_probability": score(ids, slots[m], tokens)})
        masks.append(found)
    return {"kind": "words", "text": text, "words": listed, "masks": masks}


def best_fillings(text, widths, k):
    """All fillings of one or two slots; a beam of max(16, 2k) for more. Ties: lower ids."""
    ids, slots = encode(text, widths)
    slots = sum(slots, [])
    paths, exact = [(0.0, [])], True
    for n, slot in enumerate(slots):
        last = n + 1 == len(slots)
        rows = log_p([put(ids, slots, tokens) for _, tokens in paths], slot)
        rows[:, ~plain] = -float("inf")
        best = []
        for (total, tokens), row in zip(paths, rows):
            values, indices = row.sort(descending=True, stable=True)
            keep = k if last else len(vocabulary) if len(slots) == 2 else max(16, 2 * k)
            best += [(total + v, tokens + [i]) for v, i in
                     zip(values[:keep].tolist(), indices[:keep].tolist())
                     if v > -float("inf")]
        best.sort(key=lambda path: (-path[0], path[1]))
        if last:
            if len(slots) == 2 and len(best) >= k:
                firsts = sorted((p for p, _ in paths), reverse=True)
                # 256 expansions are enough when the next first token is no rival any more.
                exact = len(firsts) <= 256 or firsts[256] < best[k - 1][0]
            best = best[:k]
        elif len(slots) > 2:
            best = best[:max(16, 2 * k)]
        paths = best
    return paths, exact and len(slots) <= 2, len(slots)


def fillings(kind, text, k, low=0, high=0, rank="mean"):
    masks = text.count("[MASK]")
    choices = [[]]
    for _ in range(masks):
        choices = [c + [w] for c in choices for w in range(low or 1, (high or 1) + 1)]
    found, exact = [], True
    for widths in choices:
        paths, sure, slots = best_fillings(text, widths, k)
        exact = exact and sure
        for total, tokens in paths:
            split, at = [], 0
            for width in widths:
                split.append(tokens[at:at + width])
                at += width
            found.append({"ids": split, "log_probability": total, "mean": total / slots})
    key = "mean" if rank == "mean" else "log_probability"
    found.sort(key=lambda f: -f[key])
    return {"kind": kind, "text": text, "k": k, "min": low, "max": high, "rank": rank,
            "exact": exact, "fillings": found[:k]}


def pll(text):
    ids = tokenizer(text)["input_ids"]
    each = [None if ids[i] == UNK else
            log_p([ids[:i] + [MASK] + ids[i + 1:]], i)[0, ids[i]].item()
            for i in range(1, len(ids) - 1)]
    known = [x for x in each if x is not None]
    return {"kind": "score", "text": text, "tokens": len(known),
            "unknown": len(each) - len(known), "log_likelihood": sum(known),
            "per_token": each}


lines = [
    words("今天天气真[MASK]啊", ["好", "热", "是"]),
    words("服务态度很[MASK]。", ["满意", "一般", "不满意", "非常满意", "有待改进"]),
    words("北京是[MASK][MASK]的首都。", ["中国", "地球", "太阳", "中", "大城市"]),
    words("守株[MASK]，画蛇[MASK]", ["待兔", "添足", "太阳", "更多热水"]),
    words("地球围绕[MASK]转", ["太阳", "地上", "明月", "明月光", "明"]),
    fillings("joint", "北京是[MASK][MASK]的首都。", 5),
    fillings("joint", "守株待[MASK]，画蛇添[MASK]", 3),
    fillings("joint", "今天[MASK]气真[MASK]啊", 20),
    fillings("joint", "我[MASK]天去[MASK]学[MASK]。", 5),
    fillings("joint", "今天天气真[MASK]啊", 5),
    fillings("span", "守株[MASK]", 5, 2, 2),
    fillings("span", "地球围绕[MASK]转", 5, 1, 2),
    fillings("span", "我昨天去[MASK]学校。", 10, 1, 2, "total"),
    fillings("span", "床前[MASK]", 5, 1, 4),
    fillings("span", "他说[MASK]，我说[MASK]。", 5, 1, 2),
]
with open(news, encoding="utf-8") as file:
    rows = [line.rstrip("\n").split("\t") for line in file]
rows = [row for row in rows if "[MASK]" in row[1]]
for _, text, answer in rows[:50]:
    lines.append(pll(text.replace("[MASK]", answer)))
with open(out, "w", encoding="utf-8") as file:
    for line in lines:
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
        file.write(re.sub(r"(-?\d+\.\d{7})\d+", r"\1", text) + "\n")
