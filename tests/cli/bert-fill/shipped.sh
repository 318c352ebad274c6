# SPDX-License-Identifier: MIT
# The model that ships answers.
bert-fill -k 1 --to=text 今天天气真[MASK]啊
