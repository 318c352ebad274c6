# SPDX-License-Identifier: MIT
# --to=text gives a line a record, also where the record has line breaks.
tiny=$ROOT/tests/golden/tiny/f32
printf 'a,b\n"今天\n天气\r\n真好",天真好今天\n"中\n国",国中\n' >in.csv
bert-score -m "$tiny" --suspects=50 --to=text -c a in.csv
bert-score -m "$tiny" --pairs=a,b --to=text in.csv
