# SPDX-License-Identifier: MIT
tiny=$ROOT/tests/golden/tiny/f32
printf '北京是中国\n“好”\n' | bert-score -m "$tiny" --to=jsonl --per-token --suspects=3 -k 2
