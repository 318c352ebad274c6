# SPDX-License-Identifier: MIT
# JSON lines: the object's own bytes, one member more; lines that are no object.
. "$ROOT/tests/cli/bert-batch/_batch.sh"
printf '{ "n": 1.0, "text" :"没有", "u":"\\u4e2d" }  \n{}\n[1]\n{"text":"x","fill":1}\n\n{"a":' >in.jsonl
batch in.jsonl -o out.jsonl 2>/dev/null
status=$?
cat out.jsonl
batch --prefix=our_ in.jsonl 2>/dev/null | sed -n '4p'
# Numbers as they are written, with more digits than a double has.
printf '{"s":{"id":1},"id" : 12345678901234567890123 ,"text":"id"}\n{"text":"","id":-1.50}\n' |
    batch --from=jsonl --to=csv --select=id 2>/dev/null | cut -d, -f1
exit $status
