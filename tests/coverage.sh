#!/bin/sh
# SPDX-License-Identifier: MIT
#
# tests/coverage.sh BUILD: lines of core/ that the tests of an instrumented build (make
# coverage) have run, without the tables of one instruction set, which not every machine can
# run. Prints the files below the bar, then the sum; fails below 90 %.
set -u
cd "$(dirname "$0")/.." || exit 1
root=$PWD
cd "$1" || exit 1
find core -name '*.gcno' | sed 's/\.gcno$/.o/' | sort |
    grep -vE '/(avx|amx|neon|blis)[a-z0-9]*\.o$' |
    while read -r object; do
        gcov -n -s "$root" -o "$object" "$object" 2>/dev/null
    done | awk -v bar=90 '
        /^File / { file = $2; gsub(/\047/, "", file); sub(/.*\/core\//, "core/", file) }
        /^Lines executed:/ && file ~ /^core\/.*\.c$/ {
            split($0, part, /[:%]/)
            lines = $NF
            total += lines
            run += lines * part[2] / 100
            if (part[2] < bar)
                printf "%6.1f %% of %4d  %s\n", part[2], lines, file
            file = ""
        }
        END {
            printf "%.1f %% of %d lines\n", 100 * run / total, total
            exit 100 * run / total < bar
        }'
