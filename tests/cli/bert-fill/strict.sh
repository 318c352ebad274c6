# SPDX-License-Identifier: MIT
# Stops at the first bad record.
tiny=$ROOT/tests/golden/tiny/f32
printf '真[MASK]\n没有\n很[MASK]\n' | bert-fill -m "$tiny" -k 1 --strict
