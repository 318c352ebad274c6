/* SPDX-License-Identifier: MIT
 *
 * lanes.h: sixteen floats as one value, v16, made of V_PARTS registers of V_LANES lanes,
 * and the functions of one value on it. A table's file includes its vec_*.h first, which
 * gives
 *
 *  r_load r_load_half r_store r_all r_add r_sub r_mul r_div, r_fma(a, b, c) = a·b + c,
 *  r_least(bound, x) = bound < x ? bound : x, r_most(bound, x) = bound > x ? bound : x,
 *  r_where_less(a, b, yes, no), r_keep_nan(kept, x) = x is NaN ? x : kept,
 *  r_power(shifted) = 2^n where shifted = n + EXP_ROUND, r_keep(x) = x in a register,
 *  v_load_part, v_load_half_part, v_store_part: the first n lanes, the others zero,
 *  v_store_bytes(p, x, zero): 16 bytes, round(x) + zero limited to 0..255,
 *  v_fold(x): the folded sum; v_fold_many(s, n, out): n of them side by side,
 *  v_greatest(x): no lane is NaN,
 *
 *  i_all i_load on 32-bit integers, i_dot(sum, x, w): each lane adds four products of u8
 * x and s8 w, exactly, r_compensated(sum, zero, weight_sum) = float(sum - zero ·
 * weight_sum),
 *
 * and the shapes of its tiles: TILE_OUTPUTS, TALL_TILES (whether 8 rows by 3 outputs fit
 * into registers), CONTEXT_VECTORS, ATTENTION_QUERIES, INT8_ROWS, INT8_PANELS. */
#ifndef KERNEL_LANES_H
#define KERNEL_LANES_H

#include "kernel/kernel.h"
#include "kernel/polynomial.h"

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif
/* for i in 0 .. n, unrolled, so that what it indexes can stay in registers. */
#define EACH(i, n) UNROLL for (int i = 0; i < (n); i++)

/* ---- Register by register -------------------------------------------------------- */

#define LANEWISE(name, parameters, expression) \
    INLINE v16 name parameters {               \
        v16 result;                            \
        EACH (i, V_PARTS)                      \
            result.r[i] = expression;          \
        return result;                         \
    }

LANEWISE(v_all, (float x), r_all(x))
LANEWISE(v_load, (const float *p), r_load(p + i * V_LANES))
LANEWISE(v_load_half, (const uint16_t *p), r_load_half(p + i * V_LANES))
LANEWISE(v_add, (v16 a, v16 b), r_add(a.r[i], b.r[i]))
LANEWISE(v_sub, (v16 a, v16 b), r_sub(a.r[i], b.r[i]))
LANEWISE(v_mul, (v16 a, v16 b), r_mul(a.r[i], b.r[i]))
LANEWISE(v_div, (v16 a, v16 b), r_div(a.r[i], b.r[i]))
LANEWISE(v_fma, (v16 a, v16 b, v16 c), r_fma(a.r[i], b.r[i], c.r[i]))
LANEWISE(v_least, (v16 bound, v16 x), r_least(bound.r[i], x.r[i]))
LANEWISE(v_most, (v16 bound, v16 x), r_most(bound.r[i], x.r[i]))
LANEWISE(v_keep_nan, (v16 kept, v16 x), r_keep_nan(kept.r[i], x.r[i]))
LANEWISE(v_power, (v16 shifted), r_power(shifted.r[i]))
LANEWISE(v_where_less, (v16 a, v16 b, v16 yes, v16 no),
         r_where_less(a.r[i], b.r[i], yes.r[i], no.r[i]))

INLINE void v_store(float *p, v16 x) {
    EACH (i, V_PARTS)
        r_store(p + i * V_LANES, x.r[i]);
}

/* The first n lanes when fewer than 16 are there. */
INLINE v16 v_load_upto(const float *p, size_t n) {
    return n >= 16 ? v_load(p) : v_load_part(p, n);
}
INLINE v16 v_load_half_upto(const uint16_t *p, size_t n) {
    return n >= 16 ? v_load_half(p) : v_load_half_part(p, n);
}
INLINE void v_store_upto(float *p, v16 x, size_t n) {
    if (n >= 16)
        v_store(p, x);
    else
        v_store_part(p, x, n);
}

/* ---- Functions ------------------------------------------------------------------- */

INLINE v16 v_exp(v16 x) {
    v16 bounded = v_least(v_all(EXP_MOST), x);
    v16 shifted = v_fma(bounded, v_all(EXP_LOG2E), v_all(EXP_ROUND));
    v16 n = v_sub(shifted, v_all(EXP_ROUND));
    v16 r = v_fma(n, v_all(-EXP_LN2_HIGH), bounded);
    r = v_fma(n, v_all(-EXP_LN2_LOW), r);
    v16 p = v_fma(v_all(EXP_E4), r, v_all(EXP_E3));
    p = v_fma(p, r, v_all(EXP_E2));
    p = v_fma(p, r, v_all(EXP_E1));
    p = v_fma(p, r, v_all(EXP_E0));
    p = v_fma(p, r, v_all(1));
    p = v_fma(p, r, v_all(1));
    return v_where_less(x, v_all(EXP_LEAST), v_all(0), v_mul(p, v_power(shifted)));
}

INLINE v16 v_gelu(v16 x) {
    static const float c[GELU_TERMS] = GELU_COEFFICIENTS;
    v16 square = v_mul(x, x), half = v_mul(x, v_all(0.5f));
    v16 u = v_fma(square, v_all(GELU_SCALE), v_all(-1)), p = v_all(c[GELU_TERMS - 1]);
    UNROLL for (int i = GELU_TERMS - 2; i >= 0; i--) p = v_fma(p, u, v_all(c[i]));
    v16 near = v_fma(half, v_mul(p, x), half);
    return v_where_less(square, v_all(GELU_SQUARE), near, v_most(v_all(0), x));
}

INLINE v16 v_gelu_tanh(v16 x) {
    v16 slope = v_fma(v_mul(x, x), v_all(TANH_CUBIC), v_all(TANH_LINEAR));
    return v_div(x, v_add(v_exp(v_mul(slope, x)), v_all(1)));
}

INLINE v16 v_activate(v16 x, enum activation activation) {
    return activation == ACTIVATION_GELU        ? v_gelu(x)
           : activation == ACTIVATION_GELU_TANH ? v_gelu_tanh(x)
                                                : x;
}

/* The end of a linear layer: outputs o and on of row r, n of them. */
INLINE void v_finish(const struct linear_job *job, size_t r, size_t o, size_t n,
                     v16 value) {
    value = v_activate(value, job->activation);
    if (job->residual)
        value =
            v_add(value, v_load_upto(job->residual + r * job->residual_stride + o, n));
    v_store_upto(job->y + r * job->y_stride + o, value, n);
}

#endif
