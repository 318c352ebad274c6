# SPDX-License-Identifier: MIT
# The sample configuration, every line of it taken in, is one that each program reads.
. "$ROOT/tests/cli/common/_programs.sh"
sed -E 's/^# ([a-z-]+:( |$))/\1/; s/^#   /  /' "$ROOT/data/config.yaml" >all.yaml
grep -cv '^#\|^$' all.yaml
for program in $programs; do
    "$program" --config=all.yaml --show-config | grep -c all.yaml
done
