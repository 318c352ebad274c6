# SPDX-License-Identifier: MIT
# A mask may stand for several characters.
tiny=$ROOT/tests/golden/tiny/f32
bert-fill -m "$tiny" --span=1-2 -k 3 --header 地球围绕[MASK]转
bert-fill -m "$tiny" --span=1-2 -k 3 --rank=total 地球围绕[MASK]转
bert-fill -m "$tiny" --span=2 -k 1 --to=jsonl 守株[MASK]，画蛇[MASK]
