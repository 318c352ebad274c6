# SPDX-License-Identifier: MIT
# A column that is not there is named, with those that are.
. "$ROOT/tests/cli/bert-tokenize/_model.sh"
printf 'id,review\n1,好\n' | bert-tokenize -m ./true --from=csv -c comment
