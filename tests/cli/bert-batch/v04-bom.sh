# SPDX-License-Identifier: MIT
# V04: a byte-order mark only when asked for, once, and never in JSON.
. "$ROOT/tests/cli/bert-batch/_batch.sh"
printf '\357\273\277text\r\n天[MASK]\r\n' >in.csv
batch in.csv | head -c 4
echo
batch --bom in.csv | head -c 7 | od -An -c | tr -s ' '
batch --bom --to=jsonl in.csv || echo "exit $?"
