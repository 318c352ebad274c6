# SPDX-License-Identifier: MIT
# P02: a reader that goes away ends it at once and quietly, by SIGPIPE.
. "$ROOT/tests/cli/bert-tokenize/_model.sh"
{
    yes 今天天气真好 | bert-tokenize -m ./true
    echo $? >status
} | head -1
cat status
