#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The build as a packager meets it: the source tarball builds offline, in two folders to the
# same bytes; install and uninstall leave nothing behind; an installed program finds its
# model; a missing package is named, and a machine of 32 bits refused; Debian packages are in
# order; and the portable parts compile for another machine.
set -u
cd "$(dirname "$0")/.." || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
unset B MAKEFLAGS MFLAGS MAKELEVEL
passed=0 failed=0 skipped=0

# try WHAT COMMAND...: a test that passes when the command does.
try() {
    what=$1
    shift
    if "$@" >"$work/log" 2>&1; then
        passed=$((passed + 1))
    else
        echo "FAIL: tests/packaging.sh: $what"
        tail -20 "$work/log"
        failed=$((failed + 1))
    fi
}

offline() { # COMMAND...: without a network, where that can be had
    if unshare -rn true 2>/dev/null; then unshare -rn "$@"; else "$@"; fi
}

# From the source tarball; it is all that there is.
same_bytes() {
    make dist distfolder="$work" || return
    for copy in one two-longer; do
        mkdir "$work/$copy" &&
            tar -xzf "$work"/bert-tools-*.tar.gz --strip-components=1 -C "$work/$copy" &&
            offline make -C "$work/$copy" -j2 >/dev/null || return
    done
    for program in "$work"/one/build/bert-*; do
        cmp "$program" "$work/two-longer/build/${program##*/}" || return
    done
}

comes_and_goes() {
    destination=$work/destination
    make -C "$work/one" install install-dev DESTDIR="$destination" prefix=/usr || return
    for path in bin/bert-fill include/bert.h lib/libbert.a lib/pkgconfig/bert.pc \
        share/bert-tools/models share/man/man1/bert-fill.1 share/man/zh_CN/man5/bert-model.5 \
        share/bash-completion/completions/bert-fill share/zsh/site-functions/_bert-fill \
        share/fish/vendor_completions.d/bert-fill.fish; do
        [ -e "$destination/usr/$path" ] || { echo "$path is missing"; return 1; }
    done
    make -C "$work/one" uninstall DESTDIR="$destination" prefix=/usr || return
    [ -z "$(find "$destination" -type f -print)" ] || { find "$destination" -type f; return 1; }
    [ ! -e "$destination/usr/share/bert-tools" ]
}

answers_installed() {
    destination=$work/elsewhere
    make -C "$work/one" install DESTDIR="$destination" prefix=/opt || return
    (cd / && env -i "$destination/opt/bin/bert-fill" '北京是中国的首[MASK]。' | grep -q .)
}

# A compiler that knows no third-party header stands for a machine without the packages.
names_packages() {
    ! make -C "$work/one" B="$work/none" CC="gcc -nostdinc" >"$work/said" 2>&1 || return
    grep 'missing packages:.* libcsv-dev.* libzip-dev' "$work/said"
}

refuses_32_bits() {
    ! make -C "$work/one" B="$work/none" CC="gcc -m32" >"$work/said" 2>&1 || return
    grep 'needs a 64-bit, little-endian machine' "$work/said"
}

refuses_nothing_to_say() {
    ! ./setup >"$work/said" && grep -q '^./setup run' "$work/said"
}

# Packed twice; that programs do not depend on their folder is same_bytes' to say.
export SOURCE_DATE_EPOCH=1700000000
debian_packages() {
    for time in first second; do
        NVCC=none make -C "$work/one" deb distfolder="$work/deb" || return
        mv "$work"/deb/bert-tools_*.deb "$work/$time.deb" || return
    done
    cmp "$work/first.deb" "$work/second.deb" || return
    lintian --fail-on error "$work/first.deb" || return
    dpkg-deb -x "$work/first.deb" "$work/unpacked" &&
        "$work/unpacked/usr/bin/bert-fill" '北京是中国的首[MASK]。' | grep -q .
}

cuda_package() { # for one architecture: each takes its time
    make -C "$work/one" deb distfolder="$work/deb" cuda_arches=90 || return
    lintian --fail-on error "$work"/deb/bert-tools-cuda_*.deb || return
    dpkg-deb -c "$work"/deb/bert-tools-cuda_*.deb | grep '/usr/lib/bert-tools/bert-cuda.so'
}

try 'the source tarball builds offline, in two folders to the same bytes' same_bytes
try 'install and uninstall' comes_and_goes
try 'an installed program finds its model' answers_installed
try 'missing packages are named' names_packages
try 'a machine of 32 bits is refused' refuses_32_bits
try 'setup explains itself' refuses_nothing_to_say
if command -v dpkg-shlibdeps >/dev/null && command -v lintian >/dev/null; then
    try 'the Debian package: the same bytes twice, in order for lintian' debian_packages
    if command -v nvcc >/dev/null; then
        try 'the package of the CUDA backend' cuda_package
    else
        echo "SKIP: tests/packaging.sh: the package of the CUDA backend: nvcc is not installed"
        skipped=$((skipped + 1))
    fi
else
    echo "SKIP: tests/packaging.sh: dpkg-dev or lintian is not installed"
    skipped=$((skipped + 1))
fi
if command -v aarch64-linux-gnu-gcc >/dev/null; then
    try 'portable parts for aarch64' make -C "$work/one" portable \
        CC=aarch64-linux-gnu-gcc B="$work/aarch64" DEVELOPER=1
else
    echo "SKIP: tests/packaging.sh: aarch64-linux-gnu-gcc is not installed"
    skipped=$((skipped + 1))
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
