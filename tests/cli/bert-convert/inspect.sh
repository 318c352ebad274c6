# SPDX-License-Identifier: MIT
# The tensors of a file, as lines and as JSON.
ln -s "$ROOT/tests/golden/tiny" tiny
bert-convert --inspect tiny/bin-legacy | head -4
bert-convert --inspect --to=json tiny/f32 | head -c 172
