# SPDX-License-Identifier: MIT
# Back into a folder: the weights are the same bytes.
tiny="$ROOT/tests/golden/tiny"
bert-convert "$tiny/untied" -o x.bert --precision=f32 >out
bert-convert x.bert --to=safetensors -o folder >out
ls folder
bert-fill -m "$tiny/untied" "[MASK]天" >want
bert-fill -m ./folder "[MASK]天" | cmp - want
