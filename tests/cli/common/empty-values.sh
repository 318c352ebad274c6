# SPDX-License-Identifier: MIT
# An empty file name or mask is a slip (an unset variable), not the default.
bert-fill --mask-token= 'x[MASK]'
bert-fill -m '' 'x[MASK]'
bert-batch -o '' in.csv
bert-batch --template= in.csv
bert-tokenize --config= in.txt
bert-serve --api-key-file=
echo 'model: ""' >c.yaml
bert-score --config=c.yaml in.txt
