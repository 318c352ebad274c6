#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Lines over several machines with GNU parallel; on one machine bert-fill uses all cores by
# itself. --keep-order: the lines come back as they went in. Add --sshlogin HOST,... to leave
# this machine.
exec parallel --will-cite --pipe --keep-order --block 1M bert-fill -q --to=text <"$1"
