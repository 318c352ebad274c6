# SPDX-License-Identifier: MIT
# More spellings of a mask.
tiny=$ROOT/tests/golden/tiny/f32
bert-fill -m "$tiny" -k 1 --mask-token=【MASK】 --mask-token=__ 今天【MASK】气真__啊[MASK]
bert-fill -m "$tiny" -k 1 --mask-token='[UNK]' 今天[UNK]气真好啊
