# SPDX-License-Identifier: MIT
# Where a model is looked for, and how to make one.
bert-fill -m nothing-such 真[MASK]
