# SPDX-License-Identifier: MIT
# P01: a full disk is an I/O error.
[ -c /dev/full ] || { echo "no /dev/full" >&2; exit 77; }
. "$ROOT/tests/cli/bert-tokenize/_model.sh"
echo 好 | bert-tokenize -m ./true >/dev/full
