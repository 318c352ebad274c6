/* SPDX-License-Identifier: MIT
 *
 * record_build.h: makes a record of a row: its own copy of the bytes, the cells, and what
 * each reads as. For records.c. */
#ifndef IO_RECORD_BUILD_H
#define IO_RECORD_BUILD_H

#include "io/records.h"
#include "io/rowscan.h"

struct record_builder {
    enum record_format format;
    const struct csv *csv; /* holds the cells of the row */
    char delimiter;
    bool repair;    /* U+FFFD for bytes that are no UTF-8 */
    bool no_header; /* for messages */
    bool is_header; /* the row is one: any width will do */
    size_t limit;
    size_t width;         /* cells of a row; 0: not known yet */
    char *const *members; /* of JSONL, to be read */
    size_t member_count;
    const char *optional; /* of them, the one that may be missing; or NULL */
    const char *refused;  /* no object of JSONL may have it; or NULL */
    struct buffer scratch;
};

/* Whether the row holds no record: an empty line of JSONL, or of a table with more than
 * one column. */
bool record_is_blank(const struct record_builder *builder, const struct row *row);

/* Fails without memory only; what is wrong with the row goes into the record. number,
 * file, end and hash are left to the caller. */
enum bert_status record_build(struct record_builder *builder, struct record *record,
                              const struct row *row, enum row_state state,
                              struct bert_error *error);

#endif
