# SPDX-License-Identifier: MIT
# NUL is data, which the tokenizer drops; U+FEFF inside a text, too.
. "$ROOT/tests/cli/bert-tokenize/_model.sh"
printf '中\0国\n中\357\273\277国\n' | bert-tokenize -m ./true
