# SPDX-License-Identifier: MIT
# From every format to every other; answers are cut out, they depend on the model.
. "$ROOT/tests/cli/bert-batch/_batch.sh"
mask() { sed -E 's/("fill":\{).*(\}\})/\1...\2/; s/,[^,]*,0\.[0-9e-]*,/,WORD,P,/; s/	[^	]*	0\.[0-9e-]*	/	WORD	P	/'; }
printf 'id,text\n7,"天,[MASK]"\n8,没有\n' >in.csv
printf 'id\ttext\n7\t天\\t[MASK]\n' >in.tsv
printf '{"id":7, "text":"天[MASK]\\n"} \r\n{"text":1}\n' >in.jsonl
printf '天[MASK]\r\n' >in.txt
for to in csv tsv jsonl text; do
    for from in csv tsv jsonl txt; do
        echo "== $from to $to"
        select=
        [ "$from$to" = jsonlcsv ] || [ "$from$to" = jsonltsv ] && select=--select=id,text
        batch -q --to=$to $select in.$from 2>/dev/null -o out
        case $to in
        text) wc -l <out | tr -d ' ' ;;
        *) cut -d, -f1-4 out | mask | cut -c1-60 | tr '\r' R ;;
        esac
    done
done
