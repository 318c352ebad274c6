/* SPDX-License-Identifier: MIT
 *
 * score_output.h: the shapes in which bert-score shows its scores. */
#ifndef CMD_SCORE_OUTPUT_H
#define CMD_SCORE_OUTPUT_H

#include "base/bytes.h"
#include "base/status.h"

enum score_shape { SCORE_TSV, SCORE_JSONL, SCORE_TEXT /* corrected */ };

struct score_look {
    enum score_shape shape;
    bool per_token, suspects, byte_offsets;
    const char *pair[2]; /* names of the columns compared; NULL: no pairs */
};

/* The header of TSV, or NULL for other shapes. */
const char *score_output_header(const struct score_look *look);

/* Appends one record's answer: TSV without the record number of each row, JSONL without
 * {"record":N, at its start. With pairs texts and scores are two. */
void score_output_put(struct buffer *out, const struct score_look *look,
                      const struct bert_model *model, const struct bert_text *texts,
                      const struct bert_score *scores);

#endif
