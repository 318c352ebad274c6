# SPDX-License-Identifier: MIT
# V08: short rows are padded, surplus cells stand in error, as CSV.
. "$ROOT/tests/cli/bert-batch/_batch.sh"
printf 'text,b,c\n1,2\n1,2,3,"4,"\n[MASK],x,"y"\n' >in.csv
batch in.csv -o out.csv
status=$?
head -3 out.csv
tail -1 out.csv | cut -d, -f1-3
exit $status
