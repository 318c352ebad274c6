# SPDX-License-Identifier: MIT
"""A column of a pandas data frame: CSV out to bert-batch, CSV with answers back."""
import io
import subprocess
import sys

import pandas


def fill(frame, *options):
    """The frame with the columns that bert-batch adds."""
    process = subprocess.run(["bert-batch", "-q", *options], input=frame.to_csv(index=False),
                             text=True, encoding="utf-8", stdout=subprocess.PIPE)
    if process.returncode > 1:  # 1: some rows failed; the column error says why
        process.check_returncode()
    return pandas.read_csv(io.StringIO(process.stdout), dtype={"prediction": str})


if __name__ == "__main__":
    comments = pandas.read_csv(sys.argv[1])
    answers = fill(comments, "--template={review}。这家店很[MASK]。", "--han")
    print(answers.groupby("shop")["confidence"].mean().round(3).to_string())
