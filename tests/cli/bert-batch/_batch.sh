# SPDX-License-Identifier: MIT
# Sourced: batch runs bert-batch with the tiny model.
batch() { bert-batch -m "$ROOT/tests/golden/tiny/f32" "$@"; }
