# SPDX-License-Identifier: MIT
# A missing model says where it was looked for.
echo 好 | bert-tokenize -m no-such-model
