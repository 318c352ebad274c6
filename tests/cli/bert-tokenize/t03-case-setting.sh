# SPDX-License-Identifier: MIT
# T03: tokenizer_config.json decides; without it the class default, lower case.
. "$ROOT/tests/cli/bert-tokenize/_model.sh"
for model in false plain true; do
    echo 'T恤 café' | bert-tokenize -m ./$model
done
