# SPDX-License-Identifier: MIT
# A row a text: natural logarithms, unknown tokens left out and counted.
tiny=$ROOT/tests/golden/tiny/f32
printf '今天天气真好啊\n他说：“你好”\n' | bert-score -m "$tiny" --header
