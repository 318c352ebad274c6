# SPDX-License-Identifier: MIT
# Two models on the same texts; a text without a mask is a record error.
tiny="$ROOT/tests/golden/tiny"
bert-convert "$tiny/f32" -o x.bert --precision=f32 >out
printf "今天天气真[MASK]啊\n没有\n[MASK]和[MASK]\n" | bert-convert --compare "$tiny/f32" x.bert
