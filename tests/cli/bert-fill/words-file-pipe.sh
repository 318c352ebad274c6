# SPDX-License-Identifier: MIT
# A list may come through a pipe, and a byte-order mark is no part of its first word; but
# what was read from a pipe cannot be compared when a run is resumed.
tiny=$ROOT/tests/golden/tiny/f32
mkfifo list
printf '\357\273\277好\t行\n热\t不行\n' >list &
bert-fill -m "$tiny" --words-file=list -k 1 真[MASK]
printf '满意\n' | bert-fill -m "$tiny" --words-file=- 真[MASK]
printf 'text\n真[MASK]\n' >in.csv
bert-batch -m "$tiny" --words-file=list --resume in.csv -o out.csv &
printf '好\n' >list
wait $!
echo $?
printf '\377\376\0\0' >utf-32
bert-fill -m "$tiny" --words-file=utf-32 真[MASK]
echo $?
