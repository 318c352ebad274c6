# SPDX-License-Identifier: MIT
# Words that the model does not know are refused, all named.
tiny=$ROOT/tests/golden/tiny/f32
bert-fill -m "$tiny" --words="好,“,冷水,没有,[MASK],北 京,," 真[MASK]
