/* SPDX-License-Identifier: MIT
 *
 * records_state.h: the reader itself. For records.c and records_columns.c. */
#ifndef IO_RECORDS_STATE_H
#define IO_RECORDS_STATE_H

#include "io/record_build.h"
#include "io/rowscan.h"

struct records {
    struct records_options options;
    const char *const *paths; /* of files, or the texts themselves */
    size_t path_count, next;  /* next to open or to hand out */
    bool texts;
    struct span memory; /* the only input, when set */

    struct source *source; /* NULL between files */
    const char *file;      /* its name for messages, NULL: standard input */
    struct csv csv;
    struct rowscan scan;
    struct record_builder builder;
    struct record header, ahead; /* ahead: the first row, read to know the width */
    bool has_header, has_ahead, stopped;
    uint64_t number, taken, size; /* taken: of the files before */
    char **members;               /* of JSONL, asked for */
};

/* CSV and TSV, whose columns have numbers and mostly names. */
static inline bool records_has_rows(const struct records *records) {
    return records->options.format == FORMAT_CSV || records->options.format == FORMAT_TSV;
}

#endif
