# SPDX-License-Identifier: MIT
# T35: the text keeps its own characters: blanks, quotes, case; other masks stay.
tiny=$ROOT/tests/golden/tiny/f32
bert-fill -m "$tiny" -k 1 "地 [MASK] 霜" "  他说：“你[MASK]”……" "café [MASK]! １２"
bert-fill -m "$tiny" -k 1 --to=text "地 [MASK] 霜，[MASK]" "a[MASK]b"
