# SPDX-License-Identifier: MIT
# Source and result, in words.
ln -s "$ROOT/tests/golden/tiny/f32" tiny
bert-convert tiny -o x.bert --precision=f32 | sed 's/^seconds: .*/seconds: N/'
