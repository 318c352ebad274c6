# SPDX-License-Identifier: MIT
# Of options that exclude each other the command line's wins over the file's.
tiny=$ROOT/tests/golden/tiny/f32
printf '好\n' >list
fill() { bert-fill -m "$tiny" -k 1 --config=file.yaml "$@"; }
printf 'bert-fill:\n  words: 不好,大\n' >file.yaml
fill 天气[MASK]啊 | cut -f4
fill --words-file=list 天气[MASK]啊 | cut -f4
fill --joint 天气[MASK]啊 | cut -f1-3
fill --span=2 --rank=total 天气[MASK]啊 | cut -f1
printf 'bert-fill:\n  span: 2\n  joint: true\n  context: 天\n' >file.yaml
fill --words=大 天气[MASK]啊 | cut -f4
fill --context-column=c --show-config | grep -E '^#? ?(context|span)'
fill --words=大 --show-config | grep -E '^#? ?(words|joint|span)'
printf 'bert-fill:\n  words: 好\n  words-file: list\n' >file.yaml
fill 天气[MASK]啊
