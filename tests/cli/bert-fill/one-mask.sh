# SPDX-License-Identifier: MIT
# Operands are texts; to a pipe, rows.
tiny=$ROOT/tests/golden/tiny/f32
bert-fill -m "$tiny" --header 今天天气真[MASK]啊
