/* SPDX-License-Identifier: MIT
 *
 * terminal.h: text on a terminal: how wide it is, how much of it fits, and made safe to
 * show. */
#ifndef SERVICE_TERMINAL_H
#define SERVICE_TERMINAL_H

#include "base/bytes.h"

/* Columns that text takes. Bytes that are no UTF-8 and control characters take one each.
 */
size_t terminal_width(struct span text);

/* The longest start, or end, of text that fits so many columns, whole characters only. */
struct span terminal_start(struct span text, size_t columns);
struct span terminal_end(struct span text, size_t columns);

/* Appends text with control characters shown as U+FFFD, and blanks up to columns. */
void terminal_put(struct buffer *out, struct span text, size_t columns);

/* A bar of so many columns, filled to the fraction in eighths of a column. */
void terminal_bar(struct buffer *out, double fraction, size_t columns);

#endif
