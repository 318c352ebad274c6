# SPDX-License-Identifier: MIT
tiny=$ROOT/tests/golden/tiny/f32
bert-fill -m "$tiny" --to=hf --joint 真[MASK]
