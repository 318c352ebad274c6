# SPDX-License-Identifier: MIT
# P03: no carriage return where stderr is no terminal; -q and --progress are obeyed; -v sums up.
case $SLOW in
valgrind*) echo "thousands of rows take valgrind minutes" >&2 && exit 77 ;;
esac
. "$ROOT/tests/cli/bert-batch/_batch.sh"
for option in -q --progress -v; do
    batch $option --template='{review}[MASK]' "$ROOT/tests/csv/reviews-5000.csv" \
        2>log >/dev/null
    tr -dc '\r' <log | wc -c | tr -d ' '
done
tail -1 log
