# SPDX-License-Identifier: MIT
# Frequent slips, and what is said of them.
bert-fill --jo 'x[MASK]'
bert-fill -
bert-score '今天天气真好'
bert-tokenize 'a[MASK]'
bert-batch 评论.csv
bert-batch --select= "$ROOT/data/samples/reviews.csv"
bert-convert "$ROOT/data/samples/reviews.csv" -o x.bert 2>&1 | sed "s|$ROOT/||"
bert-convert "$PWD" -o x.bert 2>&1 | sed "s|$PWD|FOLDER|"
bert-convert "$ROOT/tests/golden/tiny/f32" -o none/x.bert >report
bert-convert -m model -o x.bert
bert-serve --listen=8000
bert-serve -o log --listen=127.0.0.1:0
