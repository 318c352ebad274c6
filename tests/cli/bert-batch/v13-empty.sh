# SPDX-License-Identifier: MIT
# V13: nothing out of nothing, with a note; a header alone comes out with ours.
. "$ROOT/tests/cli/bert-batch/_batch.sh"
batch </dev/null
echo "exit $?"
printf 'text,id\n' | batch
echo "exit $?"
: >empty.csv
batch -q --template='{a}[MASK]' empty.csv -o out.csv
wc -c <out.csv | tr -d ' '
printf 'text\n[MASK]\n' >one.csv
batch empty.csv one.csv empty.csv | grep -c MASK
