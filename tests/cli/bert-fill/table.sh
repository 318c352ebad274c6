# SPDX-License-Identifier: MIT
# The view for a terminal.
tiny=$ROOT/tests/golden/tiny/f32
bert-fill -m "$tiny" -k 3 --to=table --color=always 今天天气真[MASK]啊
bert-fill -m "$tiny" -k 2 --to=table 他[MASK]天去[MASK]校
bert-fill -m "$tiny" --to=table --words='行:好,满意;不行:热' 真[MASK]
bert-fill -m "$tiny" -k 2 --to=table --joint 他[MASK]天去[MASK]校
