# SPDX-License-Identifier: MIT
# What is no id, or none of this vocabulary.
. "$ROOT/tests/cli/bert-tokenize/_model.sh"
printf '872 好\n21128\n-1\n99999999999999999999\n1962\n' | bert-tokenize -m ./true --decode
