# SPDX-License-Identifier: MIT
#
# A DataFrame through bert-batch on Apache Spark: one process a partition, JSON lines in and
# out. A process that dies fails its task, and Spark runs the partition again.
#   spark-submit spark-batch.py reviews.csv filled.json '{review}。总之很[MASK]。'
import json
import os
import subprocess
import sys
import threading

from pyspark.sql import Row, SparkSession

BERT_BATCH = os.environ.get("BERT_BATCH", "bert-batch")


def fill(template):
    def partition(rows):
        command = [BERT_BATCH, "-q", "-j1", "--from=jsonl", "--to=jsonl",
                   "--template=" + template]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

        def feed():
            try:
                for row in rows:
                    line = json.dumps(row.asDict(), ensure_ascii=False) + "\n"
                    process.stdin.write(line.encode())
                process.stdin.close()
            except BrokenPipeError:
                pass  # its exit status says why

        feeder = threading.Thread(target=feed)
        feeder.start()
        for line in process.stdout:
            answer = json.loads(line)
            fill = answer.pop("fill")
            yield Row(prediction=fill.get("prediction"), confidence=fill.get("confidence"),
                      filled=fill.get("filled"), error=fill.get("error"), **answer)
        feeder.join()
        if process.wait() not in (0, 1):  # 1: some rows failed, and say so
            raise RuntimeError("bert-batch: exit status %d" % process.returncode)
    return partition


def main(source, target, template):
    spark = SparkSession.builder.appName("bert-batch").getOrCreate()
    reviews = spark.read.csv(source, header=True, multiLine=True, escape='"')
    names = reviews.columns
    schema = ", ".join("`%s` string" % name for name in names)
    schema += ", prediction string, confidence double, filled string, error string"
    filled = reviews.repartition(4).rdd.mapPartitions(fill(template))
    order = names + ["prediction", "confidence", "filled", "error"]
    rows = filled.map(lambda row: tuple(row[name] for name in order))
    spark.createDataFrame(rows, schema).write.mode("overwrite").json(target)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
