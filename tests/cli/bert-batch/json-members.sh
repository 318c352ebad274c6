# SPDX-License-Identifier: MIT
# JSON lines: the object's own bytes, one member more; lines that are no object.
. "$ROOT/tests/cli/bert-batch/_batch.sh"
printf '{ "n": 1.0, "text" :"没有", "u":"\\u4e2d" }  \n{}\n[1]\n{"text":"x","fill":1}\n\n{"a":' >in.jsonl
batch in.jsonl -o out.jsonl 2>/dev/null
status=$?
cat out.jsonl
batch --prefix=our_ in.jsonl 2>/dev/null | sed -n '4p'
exit $status
