# SPDX-License-Identifier: MIT
# A context is cut at its beginning, with a note, whichever way the masks are filled.
tiny=$ROOT/tests/golden/tiny/f32
long=$(printf '天%.0s' $(seq 700))
end=$(printf '天%.0s' $(seq 506))
bert-fill -m "$tiny" -k 2 --context="雨$long" 真[MASK]啊。 | cut -f4,5 >cut
bert-fill -m "$tiny" -k 2 --context="$end" 真[MASK]啊。 | cut -f4,5 | cmp - cut
bert-fill -m "$tiny" -k 2 --context="$long" --joint 真[MASK][MASK]。 | wc -l
bert-fill -m "$tiny" -k 2 --context="$long" --words=好,不好 真[MASK]啊。 | wc -l
