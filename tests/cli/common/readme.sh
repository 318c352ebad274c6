# SPDX-License-Identifier: MIT
# Each command that the README shows after "$ build/" answers with the model that ships.
sed -n 's|^    \$ build/||p' "$ROOT/README.md" >commands
[ -s commands ] || echo "no commands"
while read -r command; do
    (cd "$ROOT" && sh -c "$command") >out 2>&1 || { echo "$command: exit $?"; cat out; }
    [ -s out ] || echo "$command: says nothing"
done <commands
