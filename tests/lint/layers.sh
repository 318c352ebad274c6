#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A file includes headers of its own layer or a lower one; programs see the public header and
# the layers meant for them; each third-party library is included by one .c file alone.
set -u

rank() { # of a path below core/
    case $1 in
    bert.h | base/*) echo 0 ;;
    io/*) echo 1 ;;
    text/*) echo 2 ;;
    model/*) echo 3 ;;
    kernel/*) echo 4 ;;
    nn/*) echo 5 ;;
    mlm/*) echo 6 ;;
    service/*) echo 7 ;;
    cuda/* | emulate.h) echo 8 ;; # emulate.h runs its kernels on a CPU, for a test
    */*) echo 9 ;;
    *) grep -q "generated/$1:" Makefile && echo 0 || echo 9 ;;
    esac
}

# includes FILE...: "FILE HEADER" of each quoted include.
includes() {
    grep -H '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' "$@" |
        sed 's/^\([^:]*\):[^"]*"\([^"]*\)".*/\1 \2/'
}

find core -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' | sort | while read -r file; do
    own=$(rank "${file#core/}")
    includes "$file" | while read -r _ header; do
        [ "$(rank "$header")" -le "$own" ] ||
            echo "$file: includes $header, of a higher layer or not from core/"
    done
done

includes cmd/*.[ch] | while read -r file header; do
    case $header in
    bert.h | build_info.h | service/* | io/* | base/*) ;;
    */*) echo "$file: includes $header: programs see bert.h, service/, io/ and base/" ;;
    *) [ -f "cmd/$header" ] || echo "$file: includes $header: not found in cmd/" ;;
    esac
done

# one_file NAME PATTERN: at most one file under core/ and cmd/ includes it, a .c or .cu.
one_file() {
    users=$(grep -rlE "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]$2[>\"]" core cmd)
    [ "$(printf '%s' "$users" | grep -c .)" -le 1 ] ||
        echo "$1 is included by more than one file:" $users
    case $users in
    *.h) echo "$1 is included by a header: $users" ;;
    esac
}
one_file libcsv 'csv\.h'
one_file BLIS '(blis/|blis-[a-z]*/)?(cblas|blis)\.h'
one_file libyaml 'yaml\.h'
one_file jansson 'jansson\.h'
one_file utf8proc 'utf8proc\.h'
one_file libmicrohttpd 'microhttpd\.h'
one_file libzip 'zip\.h'
one_file iconv 'iconv\.h'
one_file getopt 'getopt\.h'
