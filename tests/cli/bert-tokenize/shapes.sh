# SPDX-License-Identifier: MIT
# Every shape of output, with and without [CLS] and [SEP].
. "$ROOT/tests/cli/bert-tokenize/_model.sh"
text='𠮷野家 café[MASK]'
for shape in --to=tokens --ids --count --to=ids --to=count --to=jsonl \
    "--to=jsonl --byte-offsets" "--special" "--special --ids" "--special --count" \
    "--special --to=jsonl"; do
    echo "$text" | bert-tokenize -m ./true $shape
done
