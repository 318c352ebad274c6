# SPDX-License-Identifier: MIT
# Sourced: the names of the programs. The build folder may hold a bert-cuda.so, too.
programs=$(basename -s .c "$ROOT"/cmd/bert-*.c)
