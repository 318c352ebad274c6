# SPDX-License-Identifier: MIT
# As Hugging Face's pipeline: its decoding, nested for several masks, nine digits.
tiny=$ROOT/tests/golden/tiny/f32
bert-fill -m "$tiny" -k 2 --to=hf "the [MASK] is good (ok)" "守株待[MASK]，[MASK]" "café [MASK]!" "[PAD]中[SEP]国[MASK]"
