# SPDX-License-Identifier: MIT
# The best whole fillings, exact for two masks.
tiny=$ROOT/tests/golden/tiny/f32
bert-fill -m "$tiny" --joint --header -k 3 守株待[MASK]，画蛇添[MASK]
bert-fill -m "$tiny" --joint -k 2 --to=jsonl 北京是[MASK][MASK]的首都 我[MASK]天去[MASK]学[MASK]
bert-fill -m "$tiny" --joint -k 2 --to=text 北京是[MASK][MASK]的首都
