# SPDX-License-Identifier: MIT
# An answer comes as soon as the input has nothing more, while the pipe stays open.
. "$ROOT/tests/cli/bert-batch/_batch.sh"
mkfifo in out
bert-batch -m "$ROOT/tests/golden/tiny/f32" --from=text --to=text <in >out &
exec 3>in 4<out
for word in 今 天 很; do
    printf '%s[MASK]\n' $word >&3
    IFS= read -r line <&4
    printf '%.3s\n' "$line"
done
exec 3>&-
wait $!
