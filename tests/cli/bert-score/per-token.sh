# SPDX-License-Identifier: MIT
# Every token; an unknown one has no number. Offsets in code points, or in bytes.
tiny=$ROOT/tests/golden/tiny/f32
printf '他说“好\n' | bert-score -m "$tiny" --per-token --header
printf '他说“好\n' | bert-score -m "$tiny" --per-token --byte-offsets
