/* SPDX-License-Identifier: MIT
 *
 * sheet.h: the output of bert-batch: which columns of the input go through, as they stand
 * there, what is added to them, and how rows and their ends are written. */
#ifndef SERVICE_SHEET_H
#define SERVICE_SHEET_H

#include "io/records.h"
#include "io/sink.h"
#include "service/sheet_answer.h"

struct sheet {
    struct sheet_look look; /* set by the caller, as are the next six */
    enum record_format from;
    const char *select; /* names of columns, written as a row of CSV; NULL: all */
    const char *prefix; /* of the names that are added; not NULL */
    bool no_header, crlf, bom;

    struct span *names; /* of the columns that go out; where there are any */
    size_t *cells;
    size_t count;
    char *fill; /* the member that JSONL gets */
    struct buffer memory, line;
    char terminator[3]; /* of a row that has none of its own */
};

/* Finds the columns. BERT_USAGE when one is missing, or a name that is added exists. */
enum bert_status sheet_open(struct sheet *sheet, struct records *records,
                            struct bert_error *error);
void sheet_release(struct sheet *sheet); /* of a zeroed one, too */

void sheet_put_header(struct sheet *sheet, const struct records *records,
                      struct sink *sink);
/* answer: what sheet_put_answer made; why: or why there is none. */
void sheet_put_row(struct sheet *sheet, const struct record *record, struct span answer,
                   const char *why, struct sink *sink);
/* For a row that is not written again: what a resumed sheet must know of it. */
void sheet_pass_row(struct sheet *sheet, const struct record *record);

#endif
