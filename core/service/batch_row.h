/* SPDX-License-Identifier: MIT
 *
 * batch_row.h: a row of /api/batch in the formats that it has. */
#ifndef SERVICE_BATCH_ROW_H
#define SERVICE_BATCH_ROW_H

#include "base/bytes.h"
#include "service/outcome.h"

enum batch_format { BATCH_JSON, BATCH_JSONL, BATCH_CSV };

struct batch_row {
    struct span id, text;
    bool id_is_number;             /* the row's own, because the file has no ids */
    const struct outcome *outcome; /* or NULL */
    const char *error;             /* then why */
};

/* "json", "jsonl", "csv"; false for others. */
bool batch_format_parse(struct span name, enum batch_format *format);
const char *batch_format_type(enum batch_format format); /* Content-Type */

void batch_put_head(struct buffer *out, enum batch_format format);
void batch_put_row(struct buffer *out, enum batch_format format,
                   const struct batch_row *row, bool first);
void batch_put_tail(struct buffer *out, enum batch_format format);

#endif
