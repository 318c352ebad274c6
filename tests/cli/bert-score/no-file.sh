# SPDX-License-Identifier: MIT
bert-score -m "$ROOT/tests/golden/tiny/f32" missing.txt
