/* SPDX-License-Identifier: MIT
 *
 * walk.h: where a tile reads its up to 9 rows, of activations or of weights. One of three
 * pointers and at most twice the stride make each address, so that all stays in general
 * registers: left to itself the compiler keeps more pointers than there are and parks
 * some in vector registers, whose moves take the ports of the multiplications. */
#ifndef KERNEL_WALK_H
#define KERNEL_WALK_H

#include "kernel/lanes.h"

struct walk {
    const char *at[3];
    size_t stride; /* bytes */
};

INLINE struct walk walk_begin(const void *from, size_t stride) {
    const char *at = from;
    return (struct walk){{at, at + 3 * stride, at + 6 * stride}, stride};
}

INLINE const void *walk_at(const struct walk *w, int row, int bytes) {
    return w->at[row / 3] + (size_t)(row % 3) * w->stride + bytes;
}

INLINE void walk_on(struct walk *w, int rows, size_t bytes) {
    EACH (i, (rows + 2) / 3) {
        w->at[i] += bytes;
        __asm__("" : "+r"(w->at[i]));
    }
}

#endif
