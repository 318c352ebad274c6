# SPDX-License-Identifier: MIT
# P01: a full disk is exit 4 with its reason, for help and for answers.
bert-fill --help >/dev/full
echo $?
bert-tokenize --show-config >/dev/full
echo $?
bert-tokenize -V >/dev/full
