# SPDX-License-Identifier: MIT
tiny=$ROOT/tests/golden/tiny/f32
bert-fill -m "$tiny" --words-file=missing 真[MASK]
