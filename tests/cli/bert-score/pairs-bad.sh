# SPDX-License-Identifier: MIT
tiny=$ROOT/tests/golden/tiny/f32
bert-score -m "$tiny" --pairs=a in.csv
