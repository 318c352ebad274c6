# SPDX-License-Identifier: MIT
# Longer than the position table: a window around the mask, with a note.
tiny=$ROOT/tests/golden/tiny/f32
long=$(printf '天%.0s' $(seq 700))
bert-fill -m "$tiny" -k 1 --to=jsonl "$long[MASK]$long" | sed 's/天\{700\}/-/g'
bert-fill -m "$tiny" -k 1 "[MASK]$long[MASK]" | sed 's/天\{700\}/-/g'
exact=$(printf '天%.0s' $(seq 509))
bert-fill -m "$tiny" -k 1 "$exact[MASK]" | cut -f1-5
