# SPDX-License-Identifier: MIT
# -V names the package and version; with -v what it was built with and would run on.
. "$ROOT/tests/cli/common/_programs.sh"
for program in $programs; do
    [ "$("$program" -V)" = "$program (bert-tools) $(sed -n 's/^VERSION := //p' "$ROOT/Makefile")" ] ||
        "$program" -V
done
bert-tokenize -Vv
BERT_CPU=reference bert-tokenize --version --verbose | sed -n 3p
