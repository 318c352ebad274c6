/* SPDX-License-Identifier: MIT
 *
 * ahead.h: fetches the weights that come next while this block's are multiplied, an equal
 * share at each step, so that memory never rests. With few rows memory is what binds:
 * then the four quarters are fetched side by side, since the processor's own prefetcher,
 * which the fetches set going, follows each, and the slow start of a page in one is
 * hidden by the others. With many rows one fetch a step is enough and costs less. */
#ifndef KERNEL_AHEAD_H
#define KERNEL_AHEAD_H

#include <stddef.h>

struct ahead {
    const char *at;
    size_t step;    /* bytes a step, of each quarter if there are any */
    size_t quarter; /* 0: one stream */
};

/* size bytes from from on within steps; the end of the memory does not matter to a fetch.
 */
static inline struct ahead ahead_begin(const void *from, size_t size, size_t steps,
                                       bool few_rows) {
    size_t streams = few_rows ? 4 : 1;
    return (struct ahead){from, (size / streams + steps - 1) / steps,
                          few_rows ? size / 4 : 0};
}

static inline __attribute__((always_inline)) void ahead_step(struct ahead *a) {
    if (a->quarter) {
        for (size_t i = 0; i < a->step; i += 64) {
            __builtin_prefetch(a->at + i, 0, 2);
            __builtin_prefetch(a->at + i + a->quarter, 0, 2);
            __builtin_prefetch(a->at + i + a->quarter * 2, 0, 2);
            __builtin_prefetch(a->at + i + a->quarter * 3, 0, 2);
        }
    } else {
        __builtin_prefetch(a->at, 0, 2);
    }
    a->at += a->step;
}

#endif
