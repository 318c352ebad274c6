# SPDX-License-Identifier: MIT
# A word of several tokens is scored as a whole, never by its first piece.
tiny=$ROOT/tests/golden/tiny/f32
bert-fill -m "$tiny" --words=中国,中,太阳 --header 北京是[MASK]的首都
