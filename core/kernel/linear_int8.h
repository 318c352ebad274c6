/* SPDX-License-Identifier: MIT
 *
 * linear_int8.h: int8 linear layers by tiles of up to INT8_ROWS rows and INT8_PANELS
 * panels of 16 outputs, whose exact sums stay in registers over all inputs and are
 * finished from there: compensation, scales, bias, activation, residual. Included once by
 * each table's file, which defines ISA(operation) as its name.
 *
 * Loops, outermost first: rows that fit half of L2; panels, which stay in L1 or L2 while
 * the rows pass by; tiles. Each step fetches its share of the next panels. */
#ifndef KERNEL_LINEAR_INT8_H
#define KERNEL_LINEAR_INT8_H

#include "base/cpu.h"
#include "kernel/ahead.h"
#include "kernel/finish_int8.h"
#include "kernel/walk.h"

INLINE vint int8_broadcast(const void *x) {
    int32_t four;
    memcpy(&four, x, sizeof four);
    return i_all(four);
}

struct stripe { /* some panels of outputs from o on, for rows first .. last */
    size_t first, last, o, end;
    struct ahead ahead;
};

INLINE void int8_tile(const struct linear_job *job, struct stripe *stripe, size_t r,
                      int rows, int panels) {
    const size_t groups = (job->linear->in + 3) / 4, stride = job->q.stride;
    struct ahead ahead = stripe->ahead;
    struct walk x = walk_begin(job->q.data + r * stride, stride);
    struct walk w = walk_begin(
        (const int8_t *)job->linear->weight + stripe->o / 16 * groups * 64, groups * 64);
    vint s[INT8_ROWS * INT8_PANELS * V_PARTS], sums[INT8_ROWS * INT8_PANELS * V_PARTS];
    const int width = panels * V_PARTS;
    EACH (i, rows * width)
        s[i] = i_all(0);
    for (size_t g = 0; g < groups; g++) {
        vint c[INT8_PANELS * V_PARTS];
        ahead_step(&ahead);
        EACH (j, width)
            c[j] = i_load(walk_at(&w, j / V_PARTS, j % V_PARTS * V_LANES * 4));
        EACH (i, rows) {
            vint a = int8_broadcast(walk_at(&x, i, 0));
            EACH (j, width)
                s[i * width + j] = i_dot(s[i * width + j], a, c[j]);
        }
        walk_on(&x, rows, 4);
        walk_on(&w, panels, 64);
    }
    stripe->ahead = ahead;
    EACH (i, rows * width)
        sums[i] = s[i]; /* s stays in registers */
    int8_finish(job, r, stripe->o, stripe->end, (size_t)rows, (size_t)panels, sums);
}

#define INT8_STRIPE(panels)                                                            \
    static void int8_stripe_##panels(const struct linear_job *job, struct stripe *s) { \
        size_t r = s->first;                                                           \
        for (; r + INT8_ROWS <= s->last; r += INT8_ROWS)                               \
            int8_tile(job, s, r, INT8_ROWS, panels);                                   \
        for (; r + 4 <= s->last; r += 4)                                               \
            int8_tile(job, s, r, 4, panels);                                           \
        for (; r + 2 <= s->last; r += 2)                                               \
            int8_tile(job, s, r, 2, panels);                                           \
        if (r < s->last)                                                               \
            int8_tile(job, s, r, 1, panels);                                           \
    }
INT8_STRIPE(1)
#if INT8_PANELS == 2
INT8_STRIPE(2)
#endif

static void int8_rows(const struct linear_job *job, size_t first, size_t last,
                      size_t begin, size_t end) {
    const size_t panel = (job->linear->in + 3) / 4 * 64, rows = last - first;
    const size_t tiles = (rows + INT8_ROWS - 1) / INT8_ROWS;
    struct stripe s = {.first = first, .last = last, .o = begin, .end = end};
    for (size_t panels; s.o < end; s.o += panels * 16) {
        panels = end - s.o > 16 ? INT8_PANELS : 1;
        const char *next =
            (const char *)job->linear->weight + (s.o / 16 + panels) * panel;
        s.ahead = ahead_begin(next, panels * panel, panel / 64 * tiles);
#if INT8_PANELS == 2
        if (panels == 2)
            int8_stripe_2(job, &s);
        else
#endif
            int8_stripe_1(job, &s);
    }
}

void ISA(linear_int8)(const struct linear_job *job, size_t begin, size_t end) {
    size_t together = cpu_features()->l2_bytes / 2 / job->q.stride;
    together = together < INT8_ROWS ? INT8_ROWS : together / INT8_ROWS * INT8_ROWS;
    for (size_t first = 0; first < job->rows; first += together) {
        size_t last = job->rows - first < together ? job->rows : first + together;
        int8_rows(job, first, last, begin, end);
    }
}

#endif
