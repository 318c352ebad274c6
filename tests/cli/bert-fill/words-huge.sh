# SPDX-License-Identifier: MIT
# A word of a megabyte.
tiny=$ROOT/tests/golden/tiny/f32
head -c 1000000 /dev/zero | tr "\0" a >list
bert-fill -m "$tiny" --words-file=list 真[MASK]
