# SPDX-License-Identifier: MIT
tiny=$ROOT/tests/golden/tiny/f32
bert-fill -m "$tiny" --span=1-4 [MASK][MASK][MASK][MASK]
