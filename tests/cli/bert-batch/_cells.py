# SPDX-License-Identifier: MIT
#
# _cells.py IN OUT ADDED: every cell of IN stands unchanged in OUT, rows in order, and each
# row of OUT has ADDED cells more.
import csv
import sys

csv.field_size_limit(1 << 30)


def rows(path):
    with open(path, encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file, strict=True))


before, after, added = rows(sys.argv[1]), rows(sys.argv[2]), int(sys.argv[3])
assert len(before) == len(after), "%d rows, then %d" % (len(before), len(after))
for i, (old, new) in enumerate(zip(before, after)):
    assert new[:len(old)] == old, "row %d differs" % i
    assert len(new) == len(old) + added, "row %d has %d cells" % (i, len(new))
    assert i == 0 or new[-1] == "", "row %d: %s" % (i, new[-1])
print(len(after) - 1, "rows")
