# SPDX-License-Identifier: MIT
# Words of several lengths and their shares, with the model that ships.
bert-fill --words=满意,一般,不满意,非常满意,有待改进 服务态度很[MASK] |
    awk -F '\t' '{ printf "%s %s %.3f %s\n", $3, $4, $6, $8 }'
