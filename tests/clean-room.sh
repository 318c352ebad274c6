#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A person with a fresh Debian 12: debootstrap makes one, the committed tree goes in, and
# ./setup run must fill a sentence and a CSV there, with nothing else done by hand. Needs
# root and a Debian mirror (MIRROR=...); skipped by name without.
set -u
cd "$(dirname "$0")/.." || exit 1
mirror=${MIRROR:-http://deb.debian.org/debian}

skip() {
    echo "SKIP: tests/clean-room.sh: $1"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}
[ "$(id -u)" -eq 0 ] || skip "needs root"
command -v debootstrap >/dev/null || skip "debootstrap is not installed"

root=$(mktemp -d /var/tmp/clean-room-XXXXXX) || exit 1
log=$root.log
leave() {
    umount "$root/proc" 2>/dev/null
    rm -rf --one-file-system "$root" "$log"
}
trap leave EXIT
trap 'exit 130' INT TERM

debootstrap --variant=minbase bookworm "$root" "$mirror" >"$log" 2>&1 || {
    tail -3 "$log"
    skip "no Debian root could be made from $mirror"
}
cp /etc/resolv.conf /etc/hosts "$root/etc/" # the way to the mirror
echo "deb $mirror bookworm main" >"$root/etc/apt/sources.list"
mount -t proc proc "$root/proc" 2>/dev/null

mkdir "$root/home/bert-tools"
git archive HEAD | tar -x -C "$root/home/bert-tools"
passed=0 failed=0
# in_root WHAT COMMAND: a test that passes when the command does.
in_root() {
    if chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin \
        ${http_proxy:+"http_proxy=$http_proxy"} ${https_proxy:+"https_proxy=$https_proxy"} \
        sh -c "cd /home/bert-tools && $2" >"$log" 2>&1; then
        passed=$((passed + 1))
    else
        echo "FAIL: tests/clean-room.sh: $1"
        tail -30 "$log"
        failed=$((failed + 1))
    fi
}
in_root './setup run' './setup run </dev/null'
in_root 'the answers show' "build/bert-fill --to=tsv '今天天气真[MASK]啊' | grep -q ."
in_root 'make install' 'make install prefix=/usr && cd / && bert-fill 北京是中国的首[MASK]'
in_root 'make uninstall' 'make uninstall prefix=/usr && ! ls /usr/bin/bert-*'
in_root 'the Debian package' 'apt-get install -y -qq --no-install-recommends dpkg-dev man-db &&
    NVCC=none make deb distfolder=/tmp && apt-get install -y -qq /tmp/bert-tools_*.deb'
in_root 'an installed package answers' 'cd / && bert-fill --to=tsv 今天天气真[MASK]啊 | grep -q .'
in_root 'man bert-fill' 'man bert-fill | grep -q SYNOPSIS'
in_root 'man in Chinese' 'LC_ALL=C.UTF-8 LANGUAGE=zh_CN man -L zh_CN bert-fill | grep -q 描述'
in_root 'purge leaves nothing' 'apt-get purge -y -qq bert-tools &&
    [ -z "$(find / -xdev -path /home -prune -o -path /proc -prune -o -path /tmp -prune \
        -o -path /var/log -prune -o -path /var/cache -prune -o -name "bert-*" -print)" ]'
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
