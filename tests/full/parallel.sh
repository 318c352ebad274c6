#!/bin/sh
# SPDX-License-Identifier: MIT
#
# GNU parallel cuts the input into blocks of whole records and keeps their order: the bytes
# are those of one process.
set -eu
cd "$(dirname "$0")/../.."
root=$(pwd)
build=$(cd "${B:-build}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v parallel >/dev/null || { echo "no GNU parallel" >&2; exit 77; }
cd "$work"
PATH=$build:$PATH BERT_MODEL=$root/tests/golden/tiny/f32 HOME=$work
export PATH BERT_MODEL HOME
bert-batch -q --to=jsonl --select=id,review --template='{review}[MASK]' \
    "$root/tests/csv/reviews-5000.csv" | sed 's/,"fill":.*/}/' >reviews.jsonl
bert-batch -q --template='{review}。总之很[MASK]。' reviews.jsonl >alone.jsonl
parallel --will-cite --pipe --keep-order --block 200k -j2 \
    "bert-batch -q -j1 --from=jsonl --template='{review}。总之很[MASK]。'" \
    <reviews.jsonl >blocks.jsonl
cmp alone.jsonl blocks.jsonl
