# SPDX-License-Identifier: MIT
# A mask, an empty line, nothing known, invalid UTF-8: failed records.
tiny=$ROOT/tests/golden/tiny/f32
printf '真[MASK]\n\n“”\n\377\n好\n' >in
bert-score -m "$tiny" in
bert-score -m "$tiny" -q --to=jsonl in 2>/dev/null
