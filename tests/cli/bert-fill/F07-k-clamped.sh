# SPDX-License-Identifier: MIT
# More answers than the vocabulary has: all, and a note.
tiny=$ROOT/tests/golden/tiny/f32
bert-fill -m "$tiny" -k 1000000 真[MASK] | wc -l
