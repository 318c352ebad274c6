# SPDX-License-Identifier: MIT
# Read before the text, never shown: the same as in front of it.
tiny=$ROOT/tests/golden/tiny/f32
bert-fill -m "$tiny" -k 2 今天天气真[MASK]啊 | cut -f4,5 >whole
bert-fill -m "$tiny" -k 2 --context=今天天气 真[MASK]啊 | tee shown | cut -f4,5 >with
cmp whole with
cut -f6 shown
printf '{"c":"今天天气","text":"真[MASK]啊"}\n' |
    bert-fill -m "$tiny" -k 2 --from=jsonl --context-column=c | cut -f4,5 | cmp whole
printf 'c,text\n今天天气,真[MASK]啊\n' |
    bert-fill -m "$tiny" -k 2 --from=csv --context-column=c | cut -f4,5 | cmp whole

printf '%s\n' '{"context":"今天天气","text":"真[MASK]啊"}' '{"text":"今天天气真[MASK]啊"}' >both.jsonl
bert-fill -m "$tiny" -k 2 --from=jsonl <both.jsonl | cut -f4,5 >member
cat whole whole | cmp - member
bert-batch -m "$tiny" --from=jsonl both.jsonl | grep -c '"prediction":"是"'
