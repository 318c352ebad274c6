# SPDX-License-Identifier: MIT
# --strict stops at the first bad record.
. "$ROOT/tests/cli/bert-tokenize/_model.sh"
printf '好\n\377\n好\n' | bert-tokenize -m ./true --strict
