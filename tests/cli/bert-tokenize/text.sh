# SPDX-License-Identifier: MIT
# One line of tokens a record; an empty line is a record without tokens; no last LF needed.
. "$ROOT/tests/cli/bert-tokenize/_model.sh"
printf '今天天气真[MASK]啊\n\nApples是\n“你好”' | bert-tokenize -m ./true
