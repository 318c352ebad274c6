# SPDX-License-Identifier: MIT
# T31: a byte-order mark in front of vocab.txt and CRLF do not hide [PAD].
. "$ROOT/tests/cli/bert-tokenize/_model.sh"
{ printf '\357\273\277'; sed 's/$/\r/' "$ROOT/data/vocab/bert-base-chinese-vocab.txt"; } \
    >true/vocab.txt
echo '好[PAD]Ok' | bert-tokenize -m ./true --to=jsonl
