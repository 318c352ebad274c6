# SPDX-License-Identifier: MIT
# An encoder without a head.
cd "$ROOT"
bert-fill -m tests/golden/tiny/no-head 真[MASK]
