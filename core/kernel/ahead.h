/* SPDX-License-Identifier: MIT
 *
 * ahead.h: fetches the weights that come next while this block's are multiplied, an equal
 * share at each step, so that memory never rests. The four quarters are fetched side by
 * side, since the processor's own prefetcher, which the fetches set going, follows each,
 * and the slow start of a page in one is hidden by the others. Each line is fetched once:
 * a fetch takes a place of those that loads wait for. */
#ifndef KERNEL_AHEAD_H
#define KERNEL_AHEAD_H

#include <stddef.h>

struct ahead {
    const char *at, *due; /* of the first quarter: fetched, and to be */
    size_t step, quarter; /* bytes */
};

/* size bytes from from on within steps; the end of the memory does not matter to a fetch.
 */
static inline struct ahead ahead_begin(const void *from, size_t size, size_t steps) {
    size_t quarter = size / 4;
    return (struct ahead){from, from, (quarter + steps - 1) / steps, quarter};
}

static inline __attribute__((always_inline)) void ahead_step(struct ahead *a) {
    for (; a->at < a->due; a->at += 64) {
        __asm__("" : "+r"(a->at)); /* or its end is computed, in registers of its own */
        __builtin_prefetch(a->at, 0, 2);
        __builtin_prefetch(a->at + a->quarter, 0, 2);
        __builtin_prefetch(a->at + a->quarter * 2, 0, 2);
        __builtin_prefetch(a->at + a->quarter * 3, 0, 2);
    }
    a->due += a->step;
}

#endif
