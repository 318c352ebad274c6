# SPDX-License-Identifier: MIT
tiny=$ROOT/tests/golden/tiny/f32
[ -c /dev/full ] || { echo "no /dev/full" >&2; exit 77; }
bert-fill -m "$tiny" 真[MASK] >/dev/full
