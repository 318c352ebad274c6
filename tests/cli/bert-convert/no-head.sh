# SPDX-License-Identifier: MIT
# An encoder alone is refused, and nothing is left behind (C04).
bert-convert "$ROOT/tests/golden/tiny/no-head" -o x.bert
status=$?
ls
exit $status
