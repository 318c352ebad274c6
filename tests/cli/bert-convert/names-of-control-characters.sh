# SPDX-License-Identifier: MIT
# What a terminal would obey in the name of a file is shown, not sent.
name=$(printf 'a\033[31m.bert')
bert-convert "$ROOT/tests/golden/tiny/f32" -o "$name" | sed -n 's/ (int8).*//p'
bert-convert --verify "$name"
bert-convert --verify "$name".none
