# SPDX-License-Identifier: MIT
# What is no model.bert, or no longer one.
bert-convert "$ROOT/tests/golden/tiny/f32" -o x.bert >out
head -c 100000 x.bert >cut.bert
bert-convert --verify cut.bert
bert-fill -m ./cut.bert "[MASK]"
