#!/bin/sh
# SPDX-License-Identifier: MIT
#
# examples/spark-batch.py on Spark's local[2], with one process killed: the rows are those of
# bert-batch alone. Spark comes from PyPI unless python3 has it, Java from the system.
set -eu
cd "$(dirname "$0")/../.."
root=$(pwd)
build=$(cd "${B:-build}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v java >/dev/null || { echo "no Java" >&2; exit 77; }
python=python3
if ! $python -c 'import pyspark' 2>/dev/null; then
    python=$build/spark-venv/bin/python
    [ -x "$python" ] || python3 -m venv "$build/spark-venv"
    $python -c 'import pyspark' 2>/dev/null || $python -m pip -q install pyspark ||
        { echo "no pyspark to be had" >&2; exit 77; }
fi
cd "$work"
head -n 801 "$root/tests/csv/reviews-5000.csv" >reviews.csv
template='{review}。总之很[MASK]。'
BERT_MODEL=$root/tests/golden/tiny/f32 BERT_BATCH_REAL=$build/bert-batch FLAKY=$work/flaky
BERT_BATCH=$root/tests/full/flaky-batch.sh PYSPARK_PYTHON=$python PYTHONWARNINGS=ignore
PYSPARK_SUBMIT_ARGS='--master local[2,3] --conf spark.ui.enabled=false pyspark-shell'
export BERT_MODEL BERT_BATCH_REAL FLAKY BERT_BATCH PYSPARK_PYTHON PYSPARK_SUBMIT_ARGS
SPARK_LOCAL_IP=127.0.0.1 $python "$root/examples/spark-batch.py" reviews.csv filled \
    "$template" 2>log || { tail -20 log >&2; exit 1; }
[ -d flaky ] || { echo "no process was killed" >&2; exit 1; }
"$build/bert-batch" -q --template="$template" --to=jsonl reviews.csv >alone.jsonl
$python - <<'END'
import glob
import json

spark, alone = {}, {}
for path in glob.glob("filled/part-*"):
    for line in open(path, encoding="utf-8"):
        row = json.loads(line)
        assert row["id"] not in spark, "twice: " + row["id"]
        spark[row.pop("id")] = row
for line in open("alone.jsonl", encoding="utf-8"):
    row = json.loads(line)
    row.update(row.pop("fill"))
    del row["candidates"]
    alone[row.pop("id")] = row
assert len(alone) == 800 and spark == alone, "the rows differ"
END
