# SPDX-License-Identifier: MIT
# A model.bert of each precision answers as its folder does, and verifies.
tiny="$ROOT/tests/golden/tiny"
for precision in int8 f16 f32; do
    bert-convert "$tiny/f32" -o "$precision.bert" --precision="$precision" >out || exit
    bert-fill -m "$tiny/f32" --precision="$precision" "今天天气真[MASK]啊" >folder
    bert-fill -m "./$precision.bert" "今天天气真[MASK]啊" >file
    cmp folder file || exit
done
bert-convert --verify int8.bert f16.bert f32.bert
ls
