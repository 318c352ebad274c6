/* SPDX-License-Identifier: MIT
 *
 * finish_int8.h: from exact sums to the outputs of an int8 layer: compensation, scales,
 * bias, activation, residual. Included after a table's vec_*.h. */
#ifndef KERNEL_FINISH_INT8_H
#define KERNEL_FINISH_INT8_H

#include "kernel/lanes.h"

/* sum is (rows, panels) of 16, for rows from r on and outputs from o on; end: of the
 * outputs. Never inlined: inside a tile's loop it would cost that its registers. */
static __attribute__((noinline)) void int8_finish(const struct linear_job *job, size_t r,
                                                  size_t o, size_t end, size_t rows,
                                                  size_t panels, const vint *sum) {
    const struct linear *l = job->linear;
    for (size_t j = 0; j < panels; j++, o += 16) {
        size_t n = end - o < 16 ? end - o : 16;
        v16 weight_scale = v_load(l->scale + o), bias = v_load(l->bias + o);
        for (size_t i = r; i < r + rows; i++) {
            const vint *s = sum + ((i - r) * panels + j) * V_PARTS;
            v16 value, scale = v_mul(v_all(job->q.scale[i]), weight_scale);
            EACH (p, V_PARTS)
                value.r[p] =
                    r_compensated(s[p], job->q.zero[i], l->sum + o + p * V_LANES);
            v_finish(job, i, o, n, v_fma(value, scale, bias));
        }
    }
}

#endif
