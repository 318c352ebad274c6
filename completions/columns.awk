# Names of the columns of a table: its first row, or the keys of its first object.
NR > 1 { exit }
{ sub(/^\357\273\277/, ""); sub(/\r$/, "") }
/^[[:blank:]]*\{/ {
    while (match($0, /"[^"\\]*"[[:blank:]]*:/)) {
        name = substr($0, RSTART + 1)
        print substr(name, 1, index(name, "\"") - 1)
        $0 = substr($0, RSTART + RLENGTH)
    }
    exit
}
{
    apart = index($0, "\t") ? "\t" : ","
    name = ""; quoted = 0
    for (i = 1; i <= length($0); i++) {
        c = substr($0, i, 1)
        if (c == "\"") quoted = !quoted
        else if (c == apart && !quoted) { print name; name = "" }
        else name = name c
    }
    print name
}
