# SPDX-License-Identifier: MIT
# T14: special tokens in text are tokens, or with --literal plain characters.
. "$ROOT/tests/cli/bert-tokenize/_model.sh"
echo '中[SEP]国[PAD]' | bert-tokenize -m ./false
echo '中[SEP]国[PAD]' | bert-tokenize -m ./false --literal
echo '中[SEP]国[PAD]' | bert-tokenize -m ./true --literal
