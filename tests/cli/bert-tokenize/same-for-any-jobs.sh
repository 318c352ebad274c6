# SPDX-License-Identifier: MIT
# Output does not depend on the number of threads.
. "$ROOT/tests/cli/bert-tokenize/_model.sh"
for jobs in 1 2 7; do
    bert-tokenize -m ./true -j $jobs -c review --to=jsonl "$ROOT/tests/csv/reviews-5000.csv" |
        cksum
done | uniq | wc -l | tr -d ' '
bert-tokenize -m ./true -c review --count "$ROOT/tests/csv/reviews-5000.csv" | wc -l | tr -d ' '
