# SPDX-License-Identifier: MIT
# P01: a full disk under standard output is said as such.
[ -c /dev/full ] || { echo "no /dev/full" >&2; exit 77; }
bert-convert --inspect "$ROOT/tests/golden/tiny/f32" >/dev/full
