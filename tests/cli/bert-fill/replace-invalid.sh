# SPDX-License-Identifier: MIT
tiny=$ROOT/tests/golden/tiny/f32
printf '\377真[MASK]\n' | bert-fill -m "$tiny" -k 1 --replace-invalid --to=jsonl
