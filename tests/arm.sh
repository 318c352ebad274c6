#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the kernels for 64-bit ARM with a cross compiler, runs them under qemu-user, and
# compares a hash of all their answers with the reference's on this machine: the same bits
# on both architectures. usage: tests/arm.sh [BUILD_FOLDER]
set -eu
cd "$(dirname "$0")/.."
build=${1:-build-arm}
cross=${CROSS:-aarch64-linux-gnu-}
for tool in "${cross}gcc" qemu-aarch64; do
    command -v "$tool" >/dev/null && continue
    echo "SKIP: tests/arm.sh: $tool is not installed"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
done
mkdir -p "$build"
flags="-std=c11 -D_GNU_SOURCE -Icore -Itests/unit -pthread -ffp-contract=off -O3
    -fno-strict-aliasing -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers
    -Werror -include core/base/banned.h"
common="tests/unit/kernel_hash.c core/kernel/reference.c core/base/bytes.c core/base/cpu.c"

# shellcheck disable=SC2086
${CC:-cc} $flags $common -o "$build/native" -lm
objects=
for source in $common core/kernel/neon.c core/kernel/neondot.c; do
    object=$build/$(basename "$source" .c).o
    case $source in */neondot.c) isa=-march=armv8.2-a+dotprod ;; *) isa= ;; esac
    # shellcheck disable=SC2086
    "${cross}gcc" $flags $isa -c "$source" -o "$object"
    objects="$objects $object"
done
# shellcheck disable=SC2086
"${cross}gcc" -static -pthread $objects -o "$build/arm" -lm

want=$("$build/native" | sed -n 's/^reference //p')
qemu-aarch64 -cpu max "$build/arm" >"$build/hashes"
test "$(wc -l <"$build/hashes")" -eq 3
while read -r table hash; do
    test "$hash" = "$want" || { echo "arm.sh: $table: $hash, not $want" >&2; exit 1; }
    echo "$table: the bits of this machine"
done <"$build/hashes"
echo "3 passed, 0 failed"
