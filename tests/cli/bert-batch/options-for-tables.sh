# SPDX-License-Identifier: MIT
# No header, another delimiter, CRLF, a selection, a prefix, braces in a template.
. "$ROOT/tests/cli/bert-batch/_batch.sh"
printf '1;天[MASK]\n2;"[MASK];地"\n' >in.csv
batch --no-header --delimiter=';' -c 2 in.csv | cut -d';' -f1,2
batch --no-header --delimiter=';' --template='{{{2}}}' --to=text in.csv
printf 'text,id\n[MASK],1\n[MASK],2' >in.csv
batch --crlf --select=id,text --prefix=our_ in.csv -o out.csv
cut -d, -f1-2 out.csv
head -1 out.csv | tr -d '\n' | od -An -c | tail -2 | tr -s ' '
printf 'text\n\n[MASK]\n' | batch 2>/dev/null | cut -d, -f1
