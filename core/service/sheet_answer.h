/* SPDX-License-Identifier: MIT
 *
 * sheet_answer.h: what bert-batch adds to a record: the cells prediction, confidence,
 * label, filled and error, the object "fill", or the filled text. Several masks: a cell
 * holds their values separated by blanks, an object holds lists. */
#ifndef SERVICE_SHEET_ANSWER_H
#define SERVICE_SHEET_ANSWER_H

#include "bert.h"
#include "io/records.h"

struct sheet_look {
    enum record_format to;
    char delimiter; /* CSV */
    int k;          /* predictions a record */
    bool words;     /* confidence is the share of the list */
    bool labelled;  /* there is a label */
    bool whole;     /* fillings, not candidates: --joint, --span */
    bool guard;     /* an apostrophe before what a spreadsheet takes for a formula */
};

/* A cell of CSV or TSV without its separator. */
void sheet_put_cell(struct buffer *out, const struct sheet_look *look, struct span value);
/* Appends to a table's row all that is added, each cell with its separator before it; or
 * the object; or the text, line breaks made blanks. */
void sheet_put_answer(struct buffer *out, const struct sheet_look *look,
                      const struct bert_text *text, const struct bert_result *result);
/* The same for a record without an answer; nothing for text. */
void sheet_put_error(struct buffer *out, const struct sheet_look *look, const char *why);

#endif
