# SPDX-License-Identifier: MIT
# Invalid UTF-8 fails its row, whose bytes go through; or is read as U+FFFD.
. "$ROOT/tests/cli/bert-batch/_batch.sh"
printf 'text\n\344\270[MASK]\n天[MASK]\n' >in.csv
batch --encoding=utf-8 in.csv -o out.csv
status=$?
head -2 out.csv | tail -1 | od -An -tx1 | head -1
batch --encoding=utf-8 --replace-invalid in.csv | head -2 | tail -1 | cut -c1-8 | od -An -tx1
exit $status
