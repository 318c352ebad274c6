# SPDX-License-Identifier: MIT
# A kernel table that does not exist is a usage error.
BERT_CPU=sparkling bert-fill '今天[MASK]'
