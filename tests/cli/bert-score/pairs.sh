# SPDX-License-Identifier: MIT
# Of two columns the text with the higher mean.
tiny=$ROOT/tests/golden/tiny/f32
printf 'a,b\n今天天气真好,天今气天好真\n中国,国中\n好,\n' >in.csv
bert-score -m "$tiny" --pairs=a,b --header in.csv
bert-score -m "$tiny" --pairs=b,a --to=text in.csv
bert-score -m "$tiny" --pairs=a,b --to=jsonl in.csv
