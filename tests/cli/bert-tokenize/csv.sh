# SPDX-License-Identifier: MIT
# A column of CSV, by name and by number; TSV; JSON lines.
. "$ROOT/tests/cli/bert-tokenize/_model.sh"
printf 'id,review\n1,"好, 很好"\n2,"两\n行"\n' >in.csv
bert-tokenize -m ./true -c review in.csv
bert-tokenize -m ./true --column-index=2 --from=csv <in.csv
printf 'text\tn\n很\\t好\t1\n' | bert-tokenize -m ./true --from=tsv
printf '{"n":1,"t":"\\u4e2d\\u0000国"}\n' | bert-tokenize -m ./true --from=jsonl -c t
