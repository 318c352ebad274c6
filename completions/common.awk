# SPDX-License-Identifier: MIT
#
# What the three shells share: reading the option dump, and what an argument is.

BEGIN {
    FS = "\t"
    fn = program
    gsub(/-/, "_", fn)
    tables = "csv tsv jsonl txt"
    operands["bert-tokenize"] = operands["bert-batch"] = operands["bert-score"] = tables
    operands["bert-convert"] = "bert safetensors bin json index"
    endings["words-file"] = "txt tsv"
    endings["config"] = "yaml yml"
    while ((getline line < library) > 0)
        if (line !~ /^#/)
            columns = columns "    " line "\n"
    sub(/\n$/, "", columns)
}

{
    count++
    letter[count] = $1; name[count] = $2; argument[count] = $3
    kind[count] = $4; choices[count] = $5; help[count] = $7
    optional[count] = $3 ~ /^\[/
}

# What completes the argument of option i: choices, model, columns, list (of columns),
# files, endings or nothing.
function completes(i) {
    if (kind[i] == "flag") return ""
    if (choices[i] != "") return "choices"
    if (name[i] == "model") return "model"
    if (name[i] ~ /^(column|context-column)$/) return "columns"
    if (name[i] ~ /^(select|pairs)$/) return "list"
    if (name[i] in endings) return "endings"
    if (kind[i] == "file") return "files"
    return "nothing"
}
