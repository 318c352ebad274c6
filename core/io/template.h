/* SPDX-License-Identifier: MIT
 *
 * template.h: a text with columns in it: '{review}。总之很[MASK]。' puts the column
 * review there; {{ and }} are braces. */
#ifndef IO_TEMPLATE_H
#define IO_TEMPLATE_H

#include "io/records.h"

struct template_piece {
    struct span text; /* as it is, or the column's name */
    bool is_column;
    size_t cell; /* of the column; set by template_resolve */
};

struct template {
    struct template_piece *pieces;
    size_t count;
    struct buffer plain; /* what the texts point into */
};

/* BERT_USAGE with the place for a brace that is not closed or not opened. */
enum bert_status template_parse(struct template *template, const char *text,
                                struct bert_error *error);
void template_release(struct template *template);

/* Finds the columns. BERT_USAGE where one is missing. */
enum bert_status template_resolve(struct template *template, struct records *records,
                                  struct bert_error *error);
/* Appends the text with the record's values, or with nothing for them when it is NULL. */
void template_put(const struct template *template, const struct record *record,
                  struct buffer *out);

#endif
