# SPDX-License-Identifier: MIT
# The reader goes away: no message, no waiting.
tiny=$ROOT/tests/golden/tiny/f32
yes 真[MASK] | bert-fill -m "$tiny" -k 1 | head -1
