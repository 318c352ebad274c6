# SPDX-License-Identifier: MIT
# Two masks: one list each, the other one staying a mask.
tiny=$ROOT/tests/golden/tiny/f32
bert-fill -m "$tiny" -k 2 北京是[MASK][MASK]的首都。
bert-fill -m "$tiny" -k 2 --to=jsonl 守株待[MASK]，画蛇添[MASK]
