# SPDX-License-Identifier: MIT
# Characters that look wrong, by falling gain, and the text corrected.
tiny=$ROOT/tests/golden/tiny/f32
printf '今天天气真好啊\n' >in
bert-score -m "$tiny" --suspects=5 --header in
bert-score -m "$tiny" --suspects=5 -k 1 --to=text in
bert-score -m "$tiny" --suspects=50 in
bert-score -m "$tiny" --suspects=50 --to=text in
