# SPDX-License-Identifier: MIT
# Words with labels classify reviews, better with a baseline: 1,000 rows that the template and
# the words were not chosen on (those were the rows of odd numbers, 64.0 % of them right; of
# these 64.6 %, and 54.9 % without the baseline).
[ -z "$SLOW" ] || { echo "thousands of rows are for a plain build" >&2; exit 77; }
awk -F, 'NR == 1 || $1 % 2 == 0' "$ROOT/tests/csv/reviews-labelled.csv" >reviews.csv
right() { # of 1,000
    bert-batch -q --precision=int8 --template='很[MASK]。{review}' --select=label \
        --words='正面:喜欢,很好;负面:失望,后悔,糟糕' --prefix=model_ "$@" reviews.csv |
        awk -F, 'NR > 1 && $1 == $4 { n++ } END { print n + 0, NR - 1 }'
}
with=$(right --baseline) without=$(right)
echo "rows: ${with#* } ${without#* }"
[ "${with% *}" -ge 630 ] || echo "with a baseline only ${with% *} of 1000 are right"
[ "${with% *}" -ge $((${without% *} + 80)) ] || echo "a baseline helps little: $without, $with"
