#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The lines of examples/crontab and bert-batch.service do what they say, in the bare
# environment that cron gives.
set -eu
cd "$(dirname "$0")/../.."
root=$(pwd)
build=$(cd "${B:-build}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/reviews"
cd "$work/reviews"
head -n 50 "$root/tests/csv/reviews-5000.csv" >reviews.csv
run() {
    env -i HOME="$work" PATH="$build:/usr/bin:/bin" BERT_MODEL="$root/tests/golden/tiny/f32" \
        /bin/sh -c "$1" >"$work/mail" 2>&1
    [ ! -s "$work/mail" ]
}
run "$(sed -n 's/^0 3 \* \* \* //p' "$root/examples/crontab")"
python3 "$root/tests/cli/bert-batch/_cells.py" reviews.csv filled.csv 4 >/dev/null
mv filled.csv by-cron.csv
run "$(sed -n 's|^ExecStart=/usr/local/bin/||p' "$root/examples/bert-batch.service")"
cmp by-cron.csv filled.csv
if command -v systemd-analyze >/dev/null; then
    sed "s|/usr/local/bin/|$build/|" "$root/examples/bert-batch.service" \
        >"$work/bert-batch.service"
    cp "$root/examples/bert-batch.timer" "$work"
    systemd-analyze verify "$work/bert-batch.service" "$work/bert-batch.timer"
fi
