# SPDX-License-Identifier: MIT
# What is refused before the first row, with exit 2, and an older output is untouched.
. "$ROOT/tests/cli/bert-batch/_batch.sh"
printf 'a,b,b\n1,2,3\n' >in.csv
printf 'text,error\n1,2\n' >taken.csv
printf 'text,text\n1,2\n' >twice.csv
printf '\377\376t\0\n\0' >utf16.csv
echo old >out.csv
try() { batch -o out.csv "$@"; echo "exit $?"; }
try in.csv
try -c b in.csv
try -c c in.csv
try --template='{a}{c}[MASK]' in.csv
try --template='{a[MASK]' in.csv
try --template='a}[MASK]' in.csv
try --select=a,x -c a in.csv
try --select=a,a -c a in.csv
try --select=a,b -c a in.csv
try twice.csv
try taken.csv
try -c a --column-index=1 in.csv
try -c a --template='[MASK]' in.csv
try --header --no-header in.csv
try --delimiter=ab in.csv
try utf16.csv
batch --resume in.csv
echo "exit $?"
try missing.csv
ls
cat out.csv
