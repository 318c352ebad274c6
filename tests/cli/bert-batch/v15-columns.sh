# SPDX-License-Identifier: MIT
# V15: columns by exact name and by number.
. "$ROOT/tests/cli/bert-batch/_batch.sh"
printf '"标题,正文",01\n天[MASK],x\n' >in.csv
batch -c 标题,正文 in.csv | cut -d, -f1-4 | head -1
batch --column-index=1 --select='"标题,正文"' in.csv | head -1
batch -c 1 in.csv
