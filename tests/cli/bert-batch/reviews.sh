# SPDX-License-Identifier: MIT
# 5,000 reviews: every cell goes through, rows in order.
[ -z "$SLOW" ] || { echo "thousands of rows are for a plain build" >&2; exit 77; }
. "$ROOT/tests/cli/bert-batch/_batch.sh"
batch --template='{review}。总之很[MASK]。' "$ROOT/tests/csv/reviews-5000.csv" -o out.csv
python3 "$ROOT/tests/cli/bert-batch/_cells.py" "$ROOT/tests/csv/reviews-5000.csv" out.csv 4
batch --template='{review}。总之很[MASK]。' -k3 <"$ROOT/tests/csv/reviews-5000.csv" >three.csv
python3 "$ROOT/tests/cli/bert-batch/_cells.py" "$ROOT/tests/csv/reviews-5000.csv" three.csv 8
for way in -j1 -j2 --no-dedup --batch-tokens=1 --batch-tokens=100000; do
    batch $way --template='{review}。总之很[MASK]。' -k3 "$ROOT/tests/csv/reviews-5000.csv" |
        cmp - three.csv
done
