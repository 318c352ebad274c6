# SPDX-License-Identifier: MIT
# Texts without a mask: said, the others answered, their record numbers kept.
tiny=$ROOT/tests/golden/tiny/f32
printf '今天很好\n真[MASK]\n\n【MASK】\n<mask>了\n[mask]\n[MASK]\n' | bert-fill -m "$tiny" -k 1
