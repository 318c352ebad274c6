# SPDX-License-Identifier: MIT
"""A Spark RDD through bert-fill: a process a partition, a line a record, in order. The
programs and the model must be on every worker. A line that fails comes back empty."""
import os
import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[2]").appName("bert-fill").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
lines = spark.sparkContext.textFile(sys.argv[1], minPartitions=2)
# Without env, Spark gives the process no environment at all.
filled = lines.pipe("bert-fill -q -j1 --to=text", env=dict(os.environ))
for line in filled.collect():
    print(line)
spark.stop()
