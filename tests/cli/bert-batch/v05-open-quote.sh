# SPDX-License-Identifier: MIT
# V05: an open quote is named by its line, and the rows after it are read.
. "$ROOT/tests/cli/bert-batch/_batch.sh"
printf 't\n"a\nb\nc[MASK]\n' >in.csv
batch in.csv -o out.csv
status=$?
cut -d, -f1,5 out.csv
exit $status
