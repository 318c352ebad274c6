# SPDX-License-Identifier: MIT
# Ids become text as Hugging Face decodes it.
. "$ROOT/tests/cli/bert-tokenize/_model.sh"
echo "[CLS]apples是 ok . don't[SEP]" | bert-tokenize -m ./true --ids |
    bert-tokenize -m ./true --decode
printf '101, 872,1962\t102\n\n8118 8118\n' | bert-tokenize -m ./true --decode
