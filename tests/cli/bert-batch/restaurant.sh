# SPDX-License-Identifier: MIT
# A byte-order mark, quoted cells with commas and line breaks; FILE twice; CRLF.
case $SLOW in
valgrind*) echo "thousands of rows take valgrind minutes" >&2 && exit 77 ;;
esac
. "$ROOT/tests/cli/bert-batch/_batch.sh"
file=restaurant-bom.csv
cp "$ROOT/tests/csv/$file" .
batch --template='{reviewbody}。总之很[MASK]。' "$file" --bom >out.csv
python3 "$ROOT/tests/cli/bert-batch/_cells.py" "$file" out.csv 4
head -c 3 out.csv | od -An -tx1
batch --template='{reviewbody}。总之很[MASK]。' "$file" "$file" | tail -n +2 >twice.csv
{ tail -n +2 out.csv; tail -n +2 out.csv; } | cmp - twice.csv
