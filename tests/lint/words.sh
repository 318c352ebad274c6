#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Functions that the code does without: what prints or ends the process in the library,
# changes the locale, or is unsafe in ways that banned.h cannot see; and unfinished work.
set -u

# none WHAT PATTERN FILE...: complains about each line that matches, comments left out.
none() {
    what=$1 pattern=$2
    shift 2
    grep -nE "$pattern" "$@" /dev/null | grep -vE '^[^:]*:[0-9]*: ?(/?\*|//)' |
        sed "s|^\([^:]*:[0-9]*\):.*|\1: $what|"
}

library=$(find core -name '*.c' | sort)
shipped=$(find core cmd -name '*.[ch]' | sort)
all="$shipped $(find tests/unit -name '*.[ch]' | sort)"

none 'the library never prints' '\b(printf|puts|putchar|perror|vprintf)\(' $library
# SIGBUS inside a mapping has nobody to report to: base/mapping.c speaks and ends itself.
none 'the library never prints or exits' '\b(stdout|stderr|exit\(|_exit\(|abort\()' \
    $(printf '%s\n' $library | grep -v 'core/base/mapping.c')
none 'data is UTF-8 whatever the locale' '\bsetlocale\(' $all
none 'scanf reads past what it should' '\b[fs]?scanf\(' $shipped
none 'alloca and system have no place here' '\b(alloca|system|popen)\(' $shipped
none 'unfinished' '\bTODO\b|\bFIXME\b|\bXXX\b' $all
