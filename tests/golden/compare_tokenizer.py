#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""compare_tokenizer.py [BUILD [COUNT [SEED]]]: random texts through BUILD/bert-tokenize and
through Hugging Face's tokenizers package (pip install tokenizers): ids and offsets must be
equal in every setting, first with the vocabulary of bert-base-chinese, then with one that
has every code point, so that no wrong character hides behind [UNK]. Exits with 1 when any
text differs, 77 without the package."""
import json
import os
import random
import subprocess
import sys
import tempfile
import unicodedata

VOCABULARY = "data/vocab/bert-base-chinese-vocab.txt"
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
# do_lower_case, strip_accents, tokenize_chinese_chars
SETTINGS = [(False, False, True), (True, True, True), (True, False, True),
            (False, True, True), (True, True, False)]
SURROGATES = range(0xD800, 0xE000)
MARKS = [c for c in map(chr, range(0x300, 0x1F000)) if unicodedata.combining(c)]
# Marks that stripping keeps although they are reordered, and what decomposes to such.
KEPT = list(map(chr, [0x302E, 0x302F, 0x1D165, 0x1D166, 0x1D16D, 0x1D16E, 0x1D172, 0x1E944,
                      0x1E94A, 0x1E000, 0x8D4, 0x8E3, 0x1714, 0x1734, 0x1DFB, 0x1D15E,
                      0x1D160, 0x1D164, 0x1D1BB]))
ODD = list("éÀẤǖİßΣſÅΩﬁＡａ１か゛がガヾ〇々㈱①Ⅳ…—“”·、。！？ \t\u3000\u200b\ufeff\xad\ufe0f\0\x85\x1f")


def any_of(rng, limit):
    codepoint = rng.randrange(limit)
    return "x" if codepoint in SURROGATES else chr(codepoint)


def random_piece(rng):
    return rng.choices([
        lambda: chr(rng.randrange(0x20, 0x7F)),
        lambda: chr(rng.randrange(0x4E00, 0x9FA6)),
        lambda: rng.choice(SPECIAL + ["[mask]", "[MASK", "##"]),
        lambda: rng.choice(MARKS),
        lambda: rng.choice(KEPT),
        lambda: chr(rng.randrange(0xAC00, 0xD7A4)),
        lambda: chr(rng.randrange(0x80, 0x600)),
        lambda: rng.choice(ODD),
        lambda: any_of(rng, 0x10000),
        lambda: any_of(rng, 0x110000),
    ], [25, 20, 5, 10, 6, 4, 6, 6, 8, 10])[0]()


def random_text(rng):
    length = rng.choice([1, 2, 3, 5, 8, 13, 30, 120])
    kind = rng.random()
    if kind < 0.15:
        some = MARKS + 6 * KEPT + ["a", "é", "中"]
        return "".join(rng.choice(some) for _ in range(length))
    if kind < 0.25:
        return "".join(chr(rng.randrange(97, 123)) for _ in range(rng.randrange(90, 110)))
    return "".join(random_piece(rng) for _ in range(length))


def their_answers(entries, setting, texts):
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    lower, strip, split = setting
    tokenizer = Tokenizer(models.WordPiece({e: i for i, e in enumerate(entries)},
                                           unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(
        handle_chinese_chars=split, strip_accents=strip, lowercase=lower)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(SPECIAL)
    for encoding in tokenizer.encode_batch(texts, add_special_tokens=False):
        yield encoding.ids, [list(pair) for pair in encoding.offsets]


def our_answers(program, folder, setting, texts):
    lower, strip, split = setting
    with open(os.path.join(folder, "tokenizer_config.json"), "w", encoding="utf-8") as file:
        json.dump({"do_lower_case": lower, "strip_accents": strip,
                   "tokenize_chinese_chars": split}, file)
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    result = subprocess.run([program, "-m", folder, "--from=jsonl", "-c", "text",
                             "--to=jsonl"], input=lines.encode(), stdout=subprocess.PIPE,
                            check=True)
    for line in result.stdout.decode().rstrip("\n").split("\n"):
        answer = json.loads(line)
        yield answer["ids"], answer["offsets"]


def compare(program, entries, texts):
    differing = 0
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "vocab.txt"), "w", encoding="utf-8",
                  newline="\n") as file:
            file.write("\n".join(entries) + "\n")
        with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
            json.dump({"model_type": "bert", "vocab_size": len(entries), "hidden_size": 32,
                       "num_hidden_layers": 1, "num_attention_heads": 2,
                       "intermediate_size": 64, "max_position_embeddings": 64,
                       "type_vocab_size": 2, "hidden_act": "gelu"}, file)
        for setting in SETTINGS:
            ours = list(our_answers(program, folder, setting, texts))
            theirs = list(their_answers(entries, setting, texts))
            assert len(ours) == len(theirs) == len(texts)
            for text, our, their in zip(texts, ours, theirs):
                if our != their:
                    differing += 1
                    if differing <= 10:
                        print(setting, ascii(text), our, their, file=sys.stderr)
    return differing


def main():
    build = sys.argv[1] if len(sys.argv) > 1 else "build"
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 20000
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    try:
        import tokenizers
    except ImportError:
        print("SKIP: the Python package tokenizers is absent", file=sys.stderr)
        return 77
    program = os.path.abspath(os.path.join(build, "bert-tokenize"))
    with open(VOCABULARY, encoding="utf-8", newline="\n") as file:
        chinese = file.read().rstrip("\n").split("\n")
    texts = [random_text(rng) for _ in range(count)]
    differing = compare(program, chinese, texts)

    codepoints = [c for c in range(0x110000) if c not in SURROGATES and c not in (0, 10, 13)]
    every = SPECIAL + [chr(c) for c in codepoints] + ["##" + chr(c) for c in codepoints]
    some = [c for c in codepoints if c < 0x3000 or rng.random() < 0.05]
    texts = texts[:count // 10] + [f"a{chr(c)}b中{chr(c)}国" for c in some]
    differing += compare(program, every, texts)
    print(f"tokenizers {tokenizers.__version__}: "
          f"{len(SETTINGS)} settings, {count} random texts and {len(some)} code points, "
          f"{differing} answers differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
