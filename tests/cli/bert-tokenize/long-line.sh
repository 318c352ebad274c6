# SPDX-License-Identifier: MIT
# A line of 10 MB is a record like others.
. "$ROOT/tests/cli/bert-tokenize/_model.sh"
yes 今天天气真好啊大家一起出去玩吧 | head -c 10000000 | tr -d '\n' >long
{ printf '今天'; cat long; printf '[MASK]\n'; echo 好; } | bert-tokenize -m ./true --count \
    --replace-invalid
