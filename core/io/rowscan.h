/* SPDX-License-Identifier: MIT
 *
 * rowscan.h: cuts a source into rows: lines, or rows of CSV, which may span lines. It
 * keeps count of lines, bytes and the hash, and finds its way back after a row that is
 * broken. */
#ifndef IO_ROWSCAN_H
#define IO_ROWSCAN_H

#include "io/csv.h"
#include "io/source.h"

struct rowscan {
    struct source *source;
    struct csv *csv; /* NULL: rows are lines */
    size_t limit;    /* bytes of a row */
    uint64_t line;   /* where the next row starts, from 1 */
    uint64_t end;    /* bytes up to the end of the last row */
    uint64_t hash;   /* of the rows so far */
    size_t shown;    /* bytes of the last row, still in the source's window */
};

enum row_state {
    ROW_OK,
    ROW_OPEN,     /* a quote is never closed; the row is cut at the end of its line */
    ROW_BROKEN,   /* text behind a closing quote; cut likewise */
    ROW_TOO_LONG, /* beyond the limit: text is empty, and the line was skipped */
    ROW_END       /* no more; an unfinished row of a stopped source is left out */
};

struct row { /* valid until the next call; cells of CSV are in rowscan.csv */
    struct span text, terminator;
    uint64_t
        line; /* where it starts; with ROW_OPEN and ROW_BROKEN, where the bad cell does */
    size_t bad; /* with these, the bad cell's offset in text */
};

/* line, end and hash go on from what they hold. */
void rowscan_start(struct rowscan *scan, struct source *source, struct csv *csv,
                   size_t limit);
enum bert_status rowscan_next(struct rowscan *scan, struct row *row,
                              enum row_state *state, struct bert_error *error);

#endif
