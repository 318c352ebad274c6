# SPDX-License-Identifier: MIT
# A file name in place of a text.
tiny=$ROOT/tests/golden/tiny/f32
echo 真[MASK] >in.txt
bert-fill -m "$tiny" in.txt
