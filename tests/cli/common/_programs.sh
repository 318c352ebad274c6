# SPDX-License-Identifier: MIT
# Sourced: the names of the programs that were built; there must be some.
programs=$(cd "$BUILD" && for file in bert-*; do [ -x "$file" ] && echo "$file"; done)
[ -n "$programs" ] || { echo "no programs in $BUILD"; exit 1; }
