/* SPDX-License-Identifier: MIT
 *
 * records_columns.c: finds the cells that a column's name, number or member stands for.
 */
#include "io/records_state.h"

const struct record *records_header(const struct records *records) {
    return records->has_header ? &records->header : NULL;
}

size_t records_width(const struct records *records) {
    return records->builder.width;
}

/* Names the columns that there are. */
static enum bert_status no_column(const struct records *records, const char *what,
                                  struct bert_error *error) {
    struct buffer names = {0};
    for (size_t i = 0; i < records->builder.width && names.size < 300; i++) {
        buffer_add_text(&names, i ? ", " : "");
        if (records->has_header)
            buffer_add(&names, records->header.cells[i].value.data,
                       records->header.cells[i].value.size);
        else
            buffer_printf(&names, "%zu", i + 1);
    }
    const char *text = buffer_text(&names);
    enum bert_status status =
        error_set(error, BERT_USAGE, "%s; the columns are: %s", what, text ? text : "");
    buffer_release(&names);
    return status;
}

static enum bert_status ask_member(struct records *records, struct span name,
                                   size_t *cell, struct bert_error *error) {
    size_t count = records->builder.member_count;
    for (size_t i = 0; i < count; i++) {
        if (span_equal(name, span_of(records->members[i]))) {
            *cell = i;
            return BERT_OK;
        }
    }
    char **members = realloc(records->members, (count + 1) * sizeof *members);
    if (!members)
        return error_memory(error);
    records->members = members;
    records->builder.members = members;
    members[count] = strndup(name.data, name.size);
    if (!members[count])
        return error_memory(error);
    records->builder.member_count = count + 1;
    *cell = count;
    return BERT_OK;
}

/* How many there are; *cell is the last. */
static size_t columns_called(const struct records *records, struct span name,
                             size_t *cell) {
    size_t found = 0;
    for (size_t i = 0; i < records->builder.width; i++) {
        char digits[24];
        snprintf(digits, sizeof digits, "%zu", i + 1);
        struct span have =
            records->has_header ? records->header.cells[i].value : span_of(digits);
        if (!span_equal(name, have))
            continue;
        *cell = i;
        found++;
    }
    return found;
}

enum bert_status records_column(struct records *records, struct span name, size_t *cell,
                                struct bert_error *error) {
    *cell = 0;
    if (records->options.format == FORMAT_JSONL)
        return ask_member(records, name, cell, error);
    if (records->options.format == FORMAT_TEXT && span_equal(name, span_of("text")))
        return BERT_OK;
    if (records_has_rows(records) && !records->builder.width)
        return BERT_OK; /* an empty input, of which nothing will be asked */
    size_t found = columns_called(records, name, cell);
    if (found == 1)
        return BERT_OK;
    char what[200];
    snprintf(what, sizeof what,
             found ? "more than one column is called '%.*s'"
                   : "no column is called '%.*s'",
             (int)(name.size < 100 ? name.size : 100), name.data);
    return records->options.format == FORMAT_TEXT
               ? error_set(error, BERT_USAGE, "%s; lines of text have one column: text",
                           what)
               : no_column(records, what, error);
}

enum bert_status records_optional_member(struct records *records, const char *name,
                                         size_t *cell, struct bert_error *error) {
    *cell = SIZE_MAX;
    if (records->builder.format != FORMAT_JSONL)
        return BERT_OK;
    size_t known = records->builder.member_count;
    enum bert_status status = ask_member(records, span_of(name), cell, error);
    if (status == BERT_OK && *cell == known) /* else it is asked for anyway */
        records->builder.optional = records->members[*cell];
    return status;
}

void records_refuse_member(struct records *records, const char *name) {
    records->builder.refused = name;
}

enum bert_status records_column_number(struct records *records, size_t number,
                                       size_t *cell, struct bert_error *error) {
    *cell = number - 1;
    if (!records_has_rows(records))
        return error_set(error, BERT_USAGE, "columns have numbers in CSV and TSV only");
    if (!records->builder.width || (number > 0 && number <= records->builder.width))
        return BERT_OK;
    char what[64];
    snprintf(what, sizeof what, "no column %zu: there are %zu", number,
             records->builder.width);
    return no_column(records, what, error);
}

enum bert_status records_text_column(struct records *records, const char *how,
                                     size_t *cell, struct bert_error *error) {
    *cell = 0;
    if (!records_has_rows(records))
        return records_column(records, span_of("text"), cell, error);
    if (records->builder.width <= 1)
        return BERT_OK;
    if (records->has_header && columns_called(records, span_of("text"), cell) > 0)
        return records_column(records, span_of("text"), cell, error);
    char what[100];
    snprintf(what, sizeof what, "no column is called 'text': choose one %s", how);
    return no_column(records, what, error);
}
