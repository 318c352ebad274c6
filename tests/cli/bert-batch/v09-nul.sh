# SPDX-License-Identifier: MIT
# V09: NUL bytes are data.
. "$ROOT/tests/cli/bert-batch/_batch.sh"
printf 'text,b\n天\0[MASK],\0\0x\n' | batch | tail -1 | cut -d, -f1,2 | od -An -c | tr -s ' '
