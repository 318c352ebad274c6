# SPDX-License-Identifier: MIT
# The same bytes whatever the locale, and without PATH and HOME.
tiny=$ROOT/tests/golden/tiny/f32
program=$(command -v bert-fill)
for locale in C POSIX de_DE.UTF-8 zh_CN.GB18030; do
    env -i LC_ALL=$locale "$program" -m "$tiny" -k 1 今天天气真[MASK]啊
done
