# SPDX-License-Identifier: MIT
# Words, spans and a proofreader with the model that ships.
bert-fill --to=text --words=满意,一般,不满意,非常满意,有待改进 服务态度很[MASK]
bert-fill --span=1-2 -k 2 地球围绕[MASK]转
bert-fill --span=2 -k 2 --han 守株[MASK]
bert-fill -k 2 我昨天去[MASK]学校
echo 今天天气真好啊 | bert-score --suspects --to=text
