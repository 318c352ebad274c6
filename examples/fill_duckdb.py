# SPDX-License-Identifier: MIT
"""A query of DuckDB into bert-batch over a pipe, and its answers into a table."""
import subprocess
import sys

import duckdb

database = duckdb.connect()
query = database.sql("select id, shop, review from read_csv(?) where review is not null",
                     params=[sys.argv[1]])
rows = query.df().to_csv(index=False)
answers = subprocess.run(["bert-batch", "-q", "--template={review}。这家店很[MASK]。", "--han",
                          "-o", "answers.csv"], input=rows, text=True, encoding="utf-8")
if answers.returncode > 1:  # 1: some rows failed; the column error says why
    answers.check_returncode()
database.sql("create table answers as from read_csv('answers.csv')")
print(database.sql("select shop, prediction, count(*) as rows from answers "
                   "group by all order by all"))
