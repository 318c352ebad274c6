# SPDX-License-Identifier: MIT
# Masks that stand for one or more characters, with the model that ships.
case $SLOW in
valgrind*) echo "beams of the model that ships take valgrind minutes" >&2 && exit 77 ;;
esac
bert-fill --span=1-2 地球围绕[MASK]转 | awk -F '\t' '{ printf "%s %.2f\n", $3, $5 }'
bert-fill --span=2 守株[MASK] | awk -F '\t' '{ printf "%s %.2f\n", $3, $5 }'
bert-fill 我昨天去[MASK]学校 | awk -F '\t' '{ printf "%s %.3f\n", $4, $5 }'
