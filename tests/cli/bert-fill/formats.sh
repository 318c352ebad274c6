# SPDX-License-Identifier: MIT
# Text, CSV, TSV and JSON lines in.
tiny=$ROOT/tests/golden/tiny/f32
printf '真[MASK]\n很[MASK]' | bert-fill -m "$tiny" -k 1
printf 'id,text\n1,"真[MASK]，\n好"\n2,很[MASK]\n' | bert-fill -m "$tiny" -k 1 --from=csv
printf 'id\tt\n1\t真[MASK]\\n好\n' | bert-fill -m "$tiny" -k 1 --from=tsv -c t
printf 'id,a,b\n1,x,真[MASK]\n' | bert-fill -m "$tiny" -k 1 --from=csv --column-index=3
printf '{"t":"\\u771f[MASK]\\n"}\n' | bert-fill -m "$tiny" -k 1 --from=jsonl -c t
