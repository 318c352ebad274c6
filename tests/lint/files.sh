#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What holds for every source file: a unique name, the licence line and a paragraph of
# purpose at the top, no tabs or blanks at line ends, and a length that one can read.
set -u

sources=$(find core cmd tests/unit tests/fuzz tests/cuda tests/faults \
    \( -name '*.[ch]' -o -name '*.cu' \) ! -path '*/corpus/*' | sort)
scripts=$(find setup .ci tests -type f \( -name '*.sh' -o -name run -o -name 'run-*' \
    -o -name setup \) ! -path 'tests/cli/*/*' | sort)

# Programs by file name: two modules called alike would share a prefix.
printf '%s\n' $sources | sed 's|.*/||' | sort | uniq -d | sed 's/$/: two files of this name/'

for file in $sources; do
    case $(head -3 "$file" | tr '\n' ' ') in
    '/* SPDX-License-Identifier: MIT  * '*" ${file##*/}:"*) ;;
    '/* SPDX-License-Identifier: MIT  * '*) echo "$file: line 3 is not ' * ${file##*/}: ...'" ;;
    *) echo "$file: no SPDX line and purpose at the top" ;;
    esac
    lines=$(grep -c '' "$file")
    case $file in
    *_table.c) ;; # generated
    *) [ "$lines" -le 700 ] || echo "$file: $lines lines, more than 700" ;;
    esac
done
for file in $scripts Makefile; do
    head -2 "$file" | grep -q 'SPDX-License-Identifier: MIT' || echo "$file: no SPDX line"
done

grep -nE '	| +$' $sources | sed 's/\(:[0-9]*\):.*/\1: a tab or blanks at the end/'
