# SPDX-License-Identifier: MIT
# The same bytes for any number of threads, alone and among a thousand.
case $SLOW in
valgrind*) echo "a thousand forward passes take valgrind minutes" >&2 && exit 77 ;;
esac
tiny=$ROOT/tests/golden/tiny/f32
i=0
while [ $i -lt 60 ]; do
    printf '今天天气真[MASK]啊\n北京是[MASK][MASK]的首都%s\n我昨天去[MASK]学校。\n' $i
    i=$((i + 1))
done >in
for options in "" "--joint -k 2" "--words=好,满意,有待改进"; do
    bert-fill -m "$tiny" -j1 $options <in >one
    bert-fill -m "$tiny" -j2 $options <in | cmp - one
    bert-fill -m "$tiny" $options 北京是[MASK][MASK]的首都7 | cut -f2- >alone
    grep '^23	' one | cut -f2- | cmp - alone
done
wc -l <one
