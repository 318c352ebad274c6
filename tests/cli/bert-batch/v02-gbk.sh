# SPDX-License-Identifier: MIT
# V02: GBK is recognised after UTF-8 and said so; the output is UTF-8.
. "$ROOT/tests/cli/bert-batch/_batch.sh"
printf '\316\304\261\276,id\r\n\275\361\314\354[MASK]\272\303,1\r\n' >gbk.csv
batch -c 文本 --select=文本,id gbk.csv | cut -d, -f1,2
# Also where other files follow, each once.
printf '文本,id\n很[MASK],2\n' >utf8.csv
batch -c 文本 --select=id gbk.csv utf8.csv | wc -l
batch -c 文本 --encoding=GBK --select=id gbk.csv | cut -d, -f1
