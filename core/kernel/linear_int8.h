/* SPDX-License-Identifier: MIT
 *
 * linear_int8.h: int8 linear layers by tiles of up to INT8_ROWS rows and INT8_PANELS panels
 * of 16 outputs, whose exact sums stay in registers over all inputs and are finished from
 * there: compensation, scales, bias, activation, residual. Included once by each table's
 * file, which defines ISA(operation) as its name.
 *
 * Loops, outermost first: rows that fit half of L2; panels, which stay in L1 or L2 while
 * the rows pass by; tiles. The first tile fetches the next panels. */
#ifndef KERNEL_LINEAR_INT8_H
#define KERNEL_LINEAR_INT8_H

#include "base/cpu.h"
#include "kernel/lanes.h"

INLINE vint int8_broadcast(const uint8_t *x) {
    int32_t four;
    memcpy(&four, x, sizeof four);
    return i_all(four);
}

INLINE void int8_finish(const struct linear_job *job, size_t r, size_t o, size_t n,
                        const vint *sum) {
    const struct linear *l = job->linear;
    v16 value, scale = v_mul(v_all(job->q.scale[r]), v_load(l->scale + o));
    UNROLL for (int p = 0; p < V_PARTS; p++)
        value.r[p] = r_compensated(sum[p], job->q.zero[r], l->sum + o + p * V_LANES);
    v_finish(job, r, o, n, v_fma(value, scale, v_load(l->bias + o)));
}

/* rows from r on, panels of outputs from o on, end: of the outputs. */
INLINE void int8_tile(const struct linear_job *job, size_t r, size_t o, size_t end, int rows,
                      int panels, bool ahead) {
    const size_t groups = (job->linear->in + 3) / 4, stride = job->q.stride;
    const uint8_t *x = job->q.data + r * stride;
    const int8_t *w = (const int8_t *)job->linear->weight + o / 16 * groups * 64;
    vint s[INT8_ROWS][INT8_PANELS * V_PARTS];
    UNROLL for (int i = 0; i < rows; i++)
        UNROLL for (int j = 0; j < panels * V_PARTS; j++) s[i][j] = i_all(0);
    for (size_t g = 0; g < groups; g++) {
        vint c[INT8_PANELS * V_PARTS];
        UNROLL for (int j = 0; j < panels; j++) {
            const int8_t *line = w + ((size_t)j * groups + g) * 64;
            if (ahead)
                __builtin_prefetch(line + (size_t)panels * groups * 64, 0, 2);
            UNROLL for (int p = 0; p < V_PARTS; p++)
                c[j * V_PARTS + p] = i_load(line + p * V_LANES * 4);
        }
        UNROLL for (int i = 0; i < rows; i++) {
            vint a = int8_broadcast(x + (size_t)i * stride + g * 4);
            UNROLL for (int j = 0; j < panels * V_PARTS; j++)
                s[i][j] = i_dot(s[i][j], a, c[j]);
        }
    }
    UNROLL for (int i = 0; i < rows; i++)
        UNROLL for (int j = 0; j < panels; j++) {
            size_t from = o + (size_t)j * 16, n = end - from < 16 ? end - from : 16;
            int8_finish(job, r + (size_t)i, from, n, &s[i][j * V_PARTS]);
        }
}

/* Rows first .. last of some panels. */
#define INT8_COLUMN(panels)                                                                \
    static void int8_panels_##panels(const struct linear_job *job, size_t first,           \
                                     size_t last, size_t o, size_t end) {                  \
        size_t r = first;                                                                  \
        for (; r + INT8_ROWS <= last; r += INT8_ROWS)                                      \
            if (r == first)                                                                \
                int8_tile(job, r, o, end, INT8_ROWS, panels, true);                        \
            else                                                                           \
                int8_tile(job, r, o, end, INT8_ROWS, panels, false);                       \
        for (; r + 4 <= last; r += 4)                                                      \
            int8_tile(job, r, o, end, 4, panels, r == first);                              \
        for (; r + 2 <= last; r += 2)                                                      \
            int8_tile(job, r, o, end, 2, panels, r == first);                              \
        if (r < last)                                                                      \
            int8_tile(job, r, o, end, 1, panels, r == first);                              \
    }
INT8_COLUMN(1)
#if INT8_PANELS == 2
INT8_COLUMN(2)
#endif

static void int8_outputs(const struct linear_job *job, size_t first, size_t last,
                         size_t begin, size_t end) {
    size_t o = begin;
#if INT8_PANELS == 2
    for (; o + 16 < end; o += 32)
        int8_panels_2(job, first, last, o, end);
#endif
    for (; o < end; o += 16)
        int8_panels_1(job, first, last, o, end);
}

void ISA(linear_int8)(const struct linear_job *job, size_t begin, size_t end) {
    size_t together = cpu_features()->l2_bytes / 2 / job->q.stride;
    together = together < INT8_ROWS ? INT8_ROWS : together / INT8_ROWS * INT8_ROWS;
    for (size_t first = 0; first < job->rows; first += together) {
        size_t last = job->rows - first < together ? job->rows : first + together;
        int8_outputs(job, first, last, begin, end);
    }
}

#endif
