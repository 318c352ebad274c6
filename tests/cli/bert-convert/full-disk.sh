# SPDX-License-Identifier: MIT
# No room for the file: exit 4, and no part of it stays.
trap '' XFSZ
ulimit -f 100
bert-convert "$ROOT/tests/golden/tiny/f32" -o x.bert
status=$?
ls
exit $status
