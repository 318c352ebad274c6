# SPDX-License-Identifier: MIT
# V11: line breaks in quotes are kept.
. "$ROOT/tests/cli/bert-batch/_batch.sh"
printf 'text\r\n"一\n二[MASK]"\r\n' | batch | head -3 | tail -2 | cut -d'"' -f1,2 | od -An -c | tr -s ' '
