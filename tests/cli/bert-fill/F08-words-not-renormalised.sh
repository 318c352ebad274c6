# SPDX-License-Identifier: MIT
# Probabilities are over the whole vocabulary; shares are of the list.
tiny=$ROOT/tests/golden/tiny/f32
bert-fill -m "$tiny" --to=jsonl --words='行:好,热;不行:满意' 今天天气真[MASK]啊
