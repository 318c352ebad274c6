# SPDX-License-Identifier: MIT
# P04: the same bytes in any locale, and without PATH or HOME.
. "$ROOT/tests/cli/bert-tokenize/_model.sh"
echo 'ÉTÉ 今天' >in
bert-tokenize -m ./true --to=jsonl in >expected
program=$(command -v bert-tokenize)
for locale in C POSIX de_DE.UTF-8 zh_CN.GB18030; do
    env -i LC_ALL=$locale LANG=$locale "$program" -m ./true --to=jsonl in | cmp - expected
done
cat expected
