# SPDX-License-Identifier: MIT
# Whole fillings are not for a window of the text.
tiny=$ROOT/tests/golden/tiny/f32
long=$(printf '天%.0s' $(seq 509))
bert-fill -m "$tiny" --joint "[MASK]$long[MASK]"
bert-fill -m "$tiny" --span=4 "$long[MASK]"
