# SPDX-License-Identifier: MIT
# All words of a list, whatever -k would be; --to=hf gives five.
tiny=$ROOT/tests/golden/tiny/f32
list=好,热,水,日,月,中,国
bert-fill -m "$tiny" --words=$list 真[MASK] | wc -l
bert-fill -m "$tiny" --words=$list --to=hf 真[MASK] | grep -o score | wc -l
bert-fill -m "$tiny" --words=$list -k 2 真[MASK]
bert-fill -m "$tiny" --words=$list -k 9 真[MASK] | wc -l
