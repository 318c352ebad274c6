/* SPDX-License-Identifier: MIT
 *
 * progress.h: how far a long run is: one line redrawn in place on a terminal, a plain
 * line a minute in a log. It makes the bytes; the program writes them to standard error.
 */
#ifndef IO_PROGRESS_H
#define IO_PROGRESS_H

#include "base/bytes.h"

enum progress_style { PROGRESS_NONE, PROGRESS_TERMINAL, PROGRESS_LOG };

struct progress {
    enum progress_style style;
    double started, shown; /* seconds of the same clock as now */
    uint64_t first;        /* records that were done before the start (resume) */
    bool drawn;            /* a line stands on the terminal */
};

struct progress_state {
    uint64_t records, errors, unique; /* all since the first record of the input */
    uint64_t taken, size;             /* bytes of the input; size 0: unknown */
};

void progress_init(struct progress *progress, enum progress_style style, uint64_t first,
                   double now);
/* Appends a line when one is due (terminal: 5 a second; log: 1 a minute). */
void progress_show(struct progress *progress, const struct progress_state *state,
                   double now, struct buffer *out);
/* Wipes the terminal's line, so that a message can stand there. */
void progress_clear(struct progress *progress, struct buffer *out);

#endif
