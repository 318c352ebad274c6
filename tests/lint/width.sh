#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Lines of at most 90 columns.
set -u
find core cmd tests/unit tests/fuzz tests/cuda tests/faults \( -name '*.[ch]' -o -name '*.cu' \) \
    ! -path '*/corpus/*' -exec env LC_ALL=C.UTF-8 grep -HnE '^.{91,}' {} + |
    sed 's/^\([^:]*:[0-9]*\):.*/\1: over 90 columns/' | sort
