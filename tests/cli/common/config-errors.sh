# SPDX-License-Identifier: MIT
# A wrong configuration: exit 2 with file, line and column.
try() {
    printf "$1" >c.yaml
    bert-tokenize --config=c.yaml --show-config
    echo $?
}
try 'model: x\nmodle: y\n'
try 'jobs: many\n'
try 'jobs: "2"\n'
try 'jobs: [1, 2]\n'
try 'quiet: yes\n'
try 'color: blue\n'
try 'jobs: 1\njobs: 2\n'
try 'literal: true\n'
try 'bert-fil:\n  han: true\n'
try 'bert-tokenize:\n  hn: true\n'
try 'output: x\n'
try 'a: b: c\n'
bert-tokenize --config=missing.yaml --show-config
