# SPDX-License-Identifier: MIT
# No such model: exit 3, the places tried and the command that makes one.
export BERT_MODEL_DIRS=/first:/second XDG_DATA_HOME=/third XDG_DATA_DIRS=/fourth
bert-fill -m nothing '今天[MASK]'
echo $?
bert-fill -m ./nothing '今天[MASK]'
echo $?
bert-fill -m nothing.bert '今天[MASK]'
