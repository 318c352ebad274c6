# SPDX-License-Identifier: MIT
# V16: formulas are guarded when asked for, numbers are left alone.
. "$ROOT/tests/cli/bert-batch/_batch.sh"
printf 'text,a\n[MASK],=cmd|x\n[MASK],-5.2\n[MASK],+1\n[MASK],@x\n[MASK],"-a,b"\n' >in.csv
batch --guard-formulas in.csv -o out.csv
python3 -c 'import csv; [print(row[1]) for row in csv.reader(open("out.csv"))]'
printf '=a,text\n1,[MASK]\n' | batch --guard-formulas | head -n 1
batch in.csv | cut -d, -f2 | head -2 | tail -1
