/* SPDX-License-Identifier: MIT
 *
 * tsv.h: tab-separated cells: a line is a row, and TAB, LF, CR and backslash within a
 * cell are written \t \n \r \\. */
#ifndef IO_TSV_H
#define IO_TSV_H

#include "base/bytes.h"

/* The cell with its escapes. */
void tsv_put_cell(struct buffer *out, const char *bytes, size_t size);
/* Appends what a cell reads as; a backslash before another character is itself. */
void tsv_read_cell(struct buffer *out, const char *bytes, size_t size);

#endif
