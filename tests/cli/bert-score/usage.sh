# SPDX-License-Identifier: MIT
tiny=$ROOT/tests/golden/tiny/f32
for options in --suspects=0 --suspects=x -k3 --to=text "--suspects --per-token" "--pairs=a,b --suspects"; do
    bert-score -m "$tiny" $options </dev/null
    echo $?
done
