# SPDX-License-Identifier: MIT
# What is wrong with a header, or with the row that tells the width, is said before any
# work: nothing comes out. Of a pipe it is known when its turn comes.
. "$ROOT/tests/cli/bert-batch/_batch.sh"
printf 't,u\n天[MASK],1\n' >a.csv
printf 't,v\n地[MASK],2\n' >b.csv
batch -c t a.csv a.csv b.csv
echo $?
batch -c t a.csv - <b.csv >rest.csv
echo $?
printf '{"t":"人[MASK]"}\n' >c.jsonl
batch -c t a.csv c.jsonl
echo $?
printf '1,"天[MASK]\n2,地[MASK]\n' | batch --no-header -c 2
