# SPDX-License-Identifier: MIT
# Options that exclude each other.
bert-tokenize --ids --count </dev/null
echo $?
bert-tokenize --decode --special </dev/null
