/* SPDX-License-Identifier: MIT
 *
 * fill_output.h: the shapes in which bert-fill shows its answers. */
#ifndef CMD_FILL_OUTPUT_H
#define CMD_FILL_OUTPUT_H

#include "base/bytes.h"
#include "base/status.h"

enum fill_shape { SHAPE_AUTO, SHAPE_TABLE, SHAPE_TSV, SHAPE_JSONL, SHAPE_TEXT, SHAPE_HF };

struct fill_look {
    enum fill_shape shape;
    bool whole;        /* fillings, not candidates: --joint, --span */
    bool words;        /* candidates have shares */
    bool byte_offsets; /* not code points */
    bool color;
};

/* The header of TSV, or NULL for other shapes. */
const char *fill_output_header(const struct fill_look *look);

/* Appends one record's answer: TSV without the record number of each row, JSONL without
 * {"record":N, at its start. The session is the one that gave the result, which stays. */
enum bert_status fill_output_put(struct buffer *out, const struct fill_look *look,
                                 struct bert_session *session,
                                 const struct bert_text *text,
                                 const struct bert_result *result,
                                 struct bert_error *error);

#endif
