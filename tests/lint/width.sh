#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Lines of at most 90 columns.
set -u
find core cmd tests/unit tests/fuzz tests/cuda tests/faults \( -name '*.[ch]' -o -name '*.cu' \) \
    ! -path '*/corpus/*' | sort | while read -r file; do
    LC_ALL=C.UTF-8 grep -nE '^.{91,}' "$file" |
        sed "s|^\([0-9]*\):.*|$file:\1: over 90 columns|"
done
