# SPDX-License-Identifier: MIT
# The best whole filling is not each mask's own best, with the model that ships.
bert-fill --to=text 我[MASK][MASK]你。
bert-fill --joint --to=text 我[MASK][MASK]你。
bert-fill --joint -k 3 我[MASK][MASK]你。 | awk -F '\t' '{ printf "%s %.2f\n", $3, $5 }'
