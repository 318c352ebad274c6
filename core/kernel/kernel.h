/* SPDX-License-Identifier: MIT
 *
 * kernel.h: the operations of a forward pass as a table of function pointers. The
 * reference table defines each; a table for an instruction set starts from it and
 * overrides. All tables but blis give the same bits (design, section 6):
 *
 *  - A sum over k (dot products of f32 and f16 layers and of attention scores, LayerNorm,
 *    soft-max) is 16 partial sums by k mod 16, in rising k, each step one fma for
 * products; then i += i+8, i += i+4, i += i+2, i += i+1.
 *  - The attention context adds p·v in key order, one fma a key, and is multiplied by
 *    1/Σp at the end, where p = exp(score - max).
 *  - Each multiply-add is a fma; exp and erf are the polynomials of reference.c.
 *  - int8 sums are exact.
 *
 * Rows are row-major; *_stride counts elements. Work is split over the index range given
 * by begin and end, and no result depends on the split or on the number of rows. Nothing
 * allocates; a kernel's scratch is on its stack, at most 320 KB. */
#ifndef KERNEL_KERNEL_H
#define KERNEL_KERNEL_H

#include "model/weights.h"

/* Quantised rows: x[r][k] ≈ scale[r] * (data[r*stride + k] - zero[r]), stride a multiple
 * of 64, data 64-byte aligned, columns from width up to stride are zero bytes. For a row
 * with least value lo and greatest hi (both taken together with 0): scale = (hi - lo) /
 * 255 (1 when hi == lo), zero = round(-lo / scale), data = round(x / scale) + zero,
 * limited to 0..255; rounding to nearest even; the division is by multiplying with
 * 1/scale. */
struct quantized {
    uint8_t *data;
    size_t stride;
    float *scale;
    int32_t *zero;
};

struct linear_job { /* y (rows, out) = activation(x · wᵀ + bias) + residual */
    const struct linear *linear;
    size_t rows;
    const float *x; /* (rows, in); f32 and f16 layers */
    size_t x_stride;
    struct quantized q; /* (rows, in); int8 layers: float(Σ xq·wq - zero·sum) one fma with
                           (x scale · w scale) and the bias */
    float *y;
    size_t y_stride;
    enum activation activation;
    const float *residual; /* (rows, out), added last; or NULL; may be y itself */
    size_t residual_stride;
};

struct norm_job { /* n = (x - mean) · 1/sqrt(variance + epsilon); y = fma(n, γ, β) */
    size_t rows, width;
    const float *x; /* may be y itself */
    size_t x_stride;
    const struct norm *norm;
    float epsilon;
    float *y; /* (rows, width), or NULL */
    size_t y_stride;
    struct quantized q; /* n · norm->quant, quantised; q.data NULL: not wanted */
};

struct quantize_job { /* x (rows, width) → q */
    size_t rows, width;
    const float *x;
    size_t x_stride;
    struct quantized q;
};

/* Multi-head attention over packed sequences. Sequence s has keys and values in rows
 * row_start[s] .. row_start[s+1] and queries in rows query_start[s] .. query_start[s+1]
 * of their own array (in the last layer there are fewer queries than keys). Head h lies
 * in columns h*width .. (h+1)*width. score = dot(q, k) · 1/sqrt(width). */
struct attention_job {
    size_t sequences, heads, width;
    const size_t *row_start, *query_start; /* sequences + 1 each */
    const float *query, *key, *value;
    size_t query_stride, key_stride, value_stride;
    float *context; /* (queries, heads * width) */
    size_t context_stride;
};

struct embed_job { /* y[r] = (word[ids[r]] + type[0]) + position[positions[r]] */
    size_t rows;
    const struct table *word, *position, *type;
    const int32_t *ids;
    const uint32_t *positions;
    float *y; /* (rows, word->width) */
    size_t y_stride;
};

struct kernel_table {
    const char *name;
    /* Outputs begin..end, each a multiple of linear_grain or the last, all rows. */
    void (*linear_f32)(const struct linear_job *job, size_t begin, size_t end);
    void (*linear_f16)(const struct linear_job *job, size_t begin, size_t end);
    void (*linear_int8)(const struct linear_job *job, size_t begin, size_t end);
    void (*layer_norm)(const struct norm_job *job, size_t begin, size_t end);   /* rows */
    void (*quantize)(const struct quantize_job *job, size_t begin, size_t end); /* rows */
    void (*embed)(const struct embed_job *job, size_t begin, size_t end);       /* rows */
    /* Units begin..end of sequences * heads, unit = sequence * heads + head. */
    void (*attention)(const struct attention_job *job, size_t begin, size_t end);
    /* The greatest of n values; NaN as soon as one is NaN; n > 0. */
    float (*maximum)(const float *x, size_t n);
    /* Σ exp(x - maximum). log p(i) = x[i] - maximum - log(Σ). */
    float (*exp_sum)(const float *x, size_t n, float maximum);
};

enum { KERNEL_LINEAR_GRAIN = 32 }; /* outputs; a multiple of each table's tile */

/* The best table of this machine, or the one called name. NULL when name is unknown or
 * this machine cannot run it. Thread-safe; tables are constant. */
const struct kernel_table *kernel_select(const char *name);
/* The i-th name, whether this machine can run it or not; NULL after the last. */
const char *kernel_name(int i);

#endif
