# SPDX-License-Identifier: MIT
# One word a line, TAB, label; CRLF and blank lines are no words.
tiny=$ROOT/tests/golden/tiny/f32
printf '好\t行\r\n\r\n满意\t行\r\n热\t不行\r\n好\t行\n' >list
bert-fill -m "$tiny" --words-file=list --header 真[MASK]
