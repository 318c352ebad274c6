# SPDX-License-Identifier: MIT
# What a failed record gives in each shape.
tiny=$ROOT/tests/golden/tiny/f32
printf '真[MASK]\n没有\n\377[MASK]\n好[MASK]\n' >in
for shape in tsv jsonl text hf; do
    bert-fill -q -m "$tiny" -k 1 --to=$shape <in 2>/dev/null
    echo "$shape: $?"
done
