# SPDX-License-Identifier: MIT
tiny=$ROOT/tests/golden/tiny/f32
bert-fill -m "$tiny" --span=9 守株[MASK]
