# SPDX-License-Identifier: MIT
tiny=$ROOT/tests/golden/tiny/f32
bert-fill -m "$tiny" --joint 守株待兔
