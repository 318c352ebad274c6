# SPDX-License-Identifier: MIT
# --strict stops at the first bad row; what was answered stays to be resumed.
. "$ROOT/tests/cli/bert-batch/_batch.sh"
printf 'text\n天[MASK]\n没有\n地[MASK]\n' >in.csv
batch --strict in.csv -o out.csv
echo "exit $?"
ls
