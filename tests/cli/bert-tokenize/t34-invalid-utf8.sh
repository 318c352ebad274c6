# SPDX-License-Identifier: MIT
# T34: a lone surrogate is no UTF-8: an empty line and exit 1; --replace-invalid reads
# U+FFFD, which is dropped.
. "$ROOT/tests/cli/bert-tokenize/_model.sh"
printf '中\355\240\275国\n好\n' | bert-tokenize -m ./true --replace-invalid
printf '中\355\240\275国\n好\n' | bert-tokenize -m ./true
