# SPDX-License-Identifier: MIT
# P03: no carriage return where stderr is no terminal; -q and --progress are obeyed; -v sums up.
. "$ROOT/tests/cli/bert-batch/_batch.sh"
(echo review && seq 500) >rows.csv
for option in -q --progress -v; do
    batch $option --template='{review}[MASK]' rows.csv 2>log >/dev/null
    tr -dc '\r' <log | wc -c | tr -d ' '
done
tail -1 log
