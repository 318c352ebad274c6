/* SPDX-License-Identifier: MIT
 *
 * progress.c: the lines of progress.h. */
#include "io/progress.h"

void progress_init(struct progress *progress, enum progress_style style, uint64_t first,
                   double now) {
    *progress =
        (struct progress){.style = style, .started = now, .shown = now, .first = first};
}

static void put_duration(struct buffer *out, double seconds) {
    unsigned long long whole = (unsigned long long)(seconds + 0.5);
    if (whole >= 3600)
        buffer_printf(out, "%llu:%02llu:%02llu", whole / 3600, whole / 60 % 60,
                      whole % 60);
    else
        buffer_printf(out, "%llu:%02llu", whole / 60, whole % 60);
}

void progress_show(struct progress *progress, const struct progress_state *state,
                   double now, struct buffer *out) {
    double every = progress->style == PROGRESS_TERMINAL ? 0.2 : 60;
    if (progress->style == PROGRESS_NONE || now - progress->shown < every)
        return;
    progress->shown = now;
    bool terminal = progress->style == PROGRESS_TERMINAL;
    uint64_t done = state->records - progress->first;
    double seconds = now - progress->started,
           rate = seconds > 0 ? (double)done / seconds : 0;
    buffer_add_text(out, terminal ? "\r" : "");
    buffer_printf(out, "%llu rows, %.*f rows/s", (unsigned long long)state->records,
                  rate < 10, rate);
    if (state->size > 0 && state->taken <= state->size) {
        double share = (double)state->taken / (double)state->size;
        buffer_printf(out, ", %.0f %%", share * 100);
        /* The rate of this run, since the rows before a resume took no time now. */
        if (rate > 0 && share > 0) {
            buffer_add_text(out, ", ETA ");
            put_duration(out, (double)state->records * (1 / share - 1) / rate);
        }
    }
    if (state->errors > 0)
        buffer_printf(out, ", %llu errors", (unsigned long long)state->errors);
    if (done > 0)
        buffer_printf(out, ", %.0f %% unique",
                      100.0 * (double)state->unique / (double)done);
    buffer_add_text(out, terminal ? "\x1b[K" : "\n");
    progress->drawn = terminal;
}

void progress_clear(struct progress *progress, struct buffer *out) {
    if (progress->drawn)
        buffer_add_text(out, "\r\x1b[K");
    progress->drawn = false;
}
