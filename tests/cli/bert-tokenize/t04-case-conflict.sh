# SPDX-License-Identifier: MIT
# T04: tokenizer_config.json wins over tokenizer.json, and a note says that they differ.
. "$ROOT/tests/cli/bert-tokenize/_model.sh"
echo '{"normalizer": {"type": "BertNormalizer", "lowercase": true}}' >false/tokenizer.json
echo 'T恤' | bert-tokenize -m ./false 2>notes
grep -c '^bert-tokenize: note: ' notes
