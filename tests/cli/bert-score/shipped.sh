# SPDX-License-Identifier: MIT
# A proofreader with the model that ships: certain alone, and more of what may be wrong.
case $SLOW in
valgrind*) echo "a whole essay takes valgrind minutes" >&2 && exit 77 ;;
esac
essay=$ROOT/data/samples/essay.txt
bert-score --suspects "$essay" | cut -f 1-3,6,7
bert-score --suspects=7 --to=text "$essay"
echo 今天天气真好啊 | bert-score --suspects --to=text
