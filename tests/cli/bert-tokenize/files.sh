# SPDX-License-Identifier: MIT
# Several files are one input; - is standard input; a missing one is an I/O error.
. "$ROOT/tests/cli/bert-tokenize/_model.sh"
echo 一 >a.txt
echo 二 | bert-tokenize -m ./true a.txt - a.txt
bert-tokenize -m ./true missing.txt
