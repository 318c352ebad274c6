# SPDX-License-Identifier: MIT
# F12: a row has the same answer alone and beside a long one, to the last byte.
. "$ROOT/tests/cli/bert-batch/_batch.sh"
fill() { bert-batch -m mini-zh "$@"; }
long=$(printf '很长的评论%.0s' $(seq 60))
printf 'text\n今天天气真[MASK]啊\n' >alone.csv
printf 'text\n今天天气真[MASK]啊\n%s[MASK]\n' "$long" >beside.csv
fill -k5 alone.csv -o one.csv
fill -k5 --batch-tokens=100000 beside.csv -o two.csv
head -2 two.csv | cmp - one.csv && wc -l <two.csv | tr -d ' '
