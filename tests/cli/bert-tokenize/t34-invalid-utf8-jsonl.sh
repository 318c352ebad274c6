# SPDX-License-Identifier: MIT
# T34: with --to=jsonl the record is an error object.
. "$ROOT/tests/cli/bert-tokenize/_model.sh"
printf '好\n中\377国\n' | bert-tokenize -m ./true --to=jsonl
