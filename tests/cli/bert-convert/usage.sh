# SPDX-License-Identifier: MIT
# Mistakes on the command line.
bert-convert
bert-convert a b -o c
bert-convert a
bert-convert a -o -
bert-convert --inspect --verify a
bert-convert --to=json a -o b
bert-convert --compare a
bert-convert --precision=int8 --to=safetensors "$ROOT/tests/golden/tiny/f32" -o folder
