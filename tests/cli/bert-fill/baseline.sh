# SPDX-License-Identifier: MIT
# Shares after dividing by what each word has in the baseline.
tiny=$ROOT/tests/golden/tiny/f32
bert-fill -m "$tiny" --words='行:好,满意;不行:热' --baseline=真[MASK] 今天天气真[MASK]
bert-fill -m "$tiny" --words=好,满意 --baseline=真[MASK] 真[MASK] | cut -f6
