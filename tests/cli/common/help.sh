# SPDX-License-Identifier: MIT
# --help of each program: on stdout, exit 0, examples first, at most 80 columns wide (Chinese
# characters are two), also where the locale knows no Chinese.
. "$ROOT/tests/cli/common/_programs.sh"
for program in $programs; do
    "$program" --help >help || echo "$program --help: exit $?"
    "$program" -h | cmp - help
    LC_ALL=C "$program" -h | cmp - help
    sed -n 3,4p help | grep -c "^  .*$program" | grep -qx '[12]' || sed -n 3,4p help
    sed 's/[^ -~]/xx/g' help | grep -E '^.{81,}' | sed "s/^/$program: too wide: /"
    ! grep -nE '	| $' help
done
