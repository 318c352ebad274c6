/* SPDX-License-Identifier: MIT
 *
 * csv.h: rows of RFC 4180 found in a window of bytes, each cell both as it stands there
 * and as it reads; and the writer. Blanks belong to the cell; a quote inside an unquoted
 * cell is a character; CRLF, LF and CR end a row; a line break in quotes is kept. */
#ifndef IO_CSV_H
#define IO_CSV_H

#include "base/bytes.h"
#include "base/status.h"

struct csv_cell {            /* offsets, because buffers move while a row grows */
    size_t start, end;       /* raw bytes in the window, quotes included */
    size_t value, value_end; /* in csv.values; unused when plain */
    bool plain;              /* reads as it stands */
};

struct csv {
    struct csv_cell *cells;
    size_t count, capacity;
    struct buffer values;
    size_t size;       /* bytes of the row; on CSV_BROKEN, up to the bad byte */
    size_t terminator; /* bytes of the line end behind it: 0, 1 or 2 */
    size_t begin;      /* where the cell in hand began: the bad one */
    size_t fed;        /* bytes of the row that the parser has had */
    bool quoted, closing, cell_done, row_done;
    char delimiter;
    void *parser; /* the library's state */
};

enum csv_state {
    CSV_ROW,    /* a row; an empty line has no cells */
    CSV_MORE,   /* the window ends before the row does */
    CSV_OPEN,   /* it ends inside quotes, and no more will come */
    CSV_BROKEN, /* text behind a closing quote */
    CSV_MEMORY
};

/* delimiter: any byte but quote, CR and LF. */
enum bert_status csv_open(struct csv *csv, char delimiter, struct bert_error *error);
void csv_close(struct csv *csv);

/* Looks for one row at the start of the window; last: nothing will follow it. After
 * CSV_MORE, call again with a longer window that starts at the same byte: it goes on
 * where it was; after anything else the next call is for a new row. After CSV_OPEN and
 * CSV_BROKEN cells holds those before the bad one. */
enum csv_state csv_row(struct csv *csv, struct span window, bool last);
/* Gives up a row begun: the next call is for a new one. cells and begin stay. */
void csv_restart(struct csv *csv);
/* Whether the row begun is inside quotes. */
bool csv_inside_quotes(const struct csv *csv);

/* A cell, quoted only where it holds the delimiter, a quote, CR or LF. */
void csv_put_cell(struct buffer *out, const char *bytes, size_t size, char delimiter);
/* Whether a spreadsheet would take it for a formula: = + - @ TAB or CR first, no number.
 */
bool csv_is_formula(const char *bytes, size_t size);

#endif
