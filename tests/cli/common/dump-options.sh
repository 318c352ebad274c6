# SPDX-License-Identifier: MIT
# The hidden table of options and --help name the same ones.
. "$ROOT/tests/cli/common/_programs.sh"
for program in $programs; do
    "$program" --dump-options | cut -f2 | sort >dumped
    "$program" --help | sed -nE 's/^ {2,6}(-., )?--([a-z0-9-]+).*/\2/p' | sort >helped
    [ -s dumped ] || echo "$program: nothing"
    diff dumped helped
    "$program" --dump-options | awk -F '\t' 'NF != 7 { print "not seven columns: " $0 }'
done
