# SPDX-License-Identifier: MIT
# A file appears when it is whole; what stops half-way leaves the older one, and no .part.
tiny=$ROOT/tests/golden/tiny/f32
printf 'text\n真[MASK]\n没有\n很[MASK]\n' >in.csv
fill() {
    bert-fill -m "$tiny" -k 1 --to=text --from=csv -o out.txt "$@" <in.csv
    echo "exit $?"
    ls
    [ ! -f out.txt ] || wc -l <out.txt
}
fill --strict
fill -c nothing
fill
printf 'text\n没有\n' >in.csv
fill --strict
