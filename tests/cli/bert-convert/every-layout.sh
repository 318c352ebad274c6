# SPDX-License-Identifier: MIT
# Each layout that people have on disk gives the same answers (C01 C05 C06 C16 C24).
tiny="$ROOT/tests/golden/tiny"
bert-fill -m "$tiny/f32" "今天天气真[MASK]啊" >want
for source in sharded bin-zip bin-legacy bin-strided tf tf/bert_model.ckpt \
    tf/bert_model.ckpt.index bin-zip/pytorch_model.bin; do
    bert-convert "$tiny/$source" -o x.bert --precision=f32 >out || exit
    bert-fill -m ./x.bert "今天天气真[MASK]啊" | cmp - want || exit
    echo "$source"
done
