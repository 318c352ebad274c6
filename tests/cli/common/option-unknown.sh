# SPDX-License-Identifier: MIT
# An unknown option: one line with the nearest name, the way to the help, exit 2.
. "$ROOT/tests/cli/common/_programs.sh"
for program in $programs; do
    "$program" --modle=x >out 2>err
    [ $? -eq 2 ] || echo "$program: wrong exit status"
    [ ! -s out ] || echo "$program: prints on stdout"
    echo "$program: unknown option '--modle=x'; did you mean '--model'? Try '$program --help'." |
        diff - err
done
bert-fill -j 0 x[MASK]
echo $?
bert-fill -j two x[MASK]
bert-fill x[MASK] --device=gpu
bert-fill --precision=f8 x[MASK]
