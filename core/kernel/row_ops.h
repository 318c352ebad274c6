/* SPDX-License-Identifier: MIT
 *
 * row_ops.h: the operations that go along rows: LayerNorm, quantising, embedding, maximum
 * and soft-max sum. Included once by each table's file, which defines ISA(operation). */
#ifndef KERNEL_ROW_OPS_H
#define KERNEL_ROW_OPS_H

#include "kernel/lanes.h"

#include <math.h>

/* ---- Quantising ------------------------------------------------------------------ */

struct range { /* of a row, lane by lane, with 0 in it */
    v16 low, high;
    v16 check; /* a NaN where a value was not finite */
};

INLINE struct range range_empty(void) {
    return (struct range){v_all(0), v_all(0), v_all(0)};
}

INLINE void range_add(struct range *range, v16 x) {
    range->low = v_least(x, range->low);
    range->high = v_most(x, range->high);
    range->check = v_fma(x, v_all(0), range->check);
}

/* As in reference.c: writes scale and zero; 0 for a row that is not finite. */
static float quantize_scale(const struct quantized *q, size_t r,
                            const struct range *range) {
    float low = -v_greatest(v_sub(v_all(0), range->low)), high = v_greatest(range->high);
    float scale = (high - low) / 255;
    if (isnan(v_fold(range->check)) || !isfinite(scale)) {
        q->scale[r] = NAN;
        q->zero[r] = 0;
        return 0;
    }
    if (scale < QUANTIZE_LEAST)
        scale = 1;
    float inverse = 1 / scale;
    q->scale[r] = scale;
    q->zero[r] = (int32_t)nearbyintf(-low * inverse);
    return inverse;
}

/* The columns after the width are zeros, all of them where the row is not finite. */
static void quantize_end(const struct quantized *q, size_t r, size_t width,
                         float inverse) {
    size_t from = inverse == 0 ? 0 : width;
    memset(q->data + r * q->stride + from, 0, q->stride - from);
}

void ISA(quantize)(const struct quantize_job *job, size_t begin, size_t end) {
    for (size_t r = begin; r < end; r++) {
        const float *x = job->x + r * job->x_stride;
        uint8_t *data = job->q.data + r * job->q.stride;
        struct range range = range_empty();
        for (size_t j = 0; j < job->width; j += 16)
            range_add(&range, v_load_upto(x + j, job->width - j));
        float inverse = quantize_scale(&job->q, r, &range);
        v16 factor = v_all(inverse);
        for (size_t j = 0; j < job->width; j += 16)
            v_store_bytes(data + j, v_mul(v_load_upto(x + j, job->width - j), factor),
                          job->q.zero[r]);
        quantize_end(&job->q, r, job->width, inverse);
    }
}

/* ---- LayerNorm ------------------------------------------------------------------- */

struct moments {
    v16 mean, inverse;
};

static struct moments moments_of(const float *x, size_t n, float epsilon) {
    v16 sum = v_all(0), square = v_all(0);
    for (size_t j = 0; j < n; j += 16)
        sum = v_add(sum, v_load_upto(x + j, n - j));
    float mean = v_fold(sum) / (float)n, padding[16];
    size_t j = 0;
    for (; j + 16 <= n; j += 16) {
        v16 d = v_sub(v_load(x + j), v_all(mean));
        square = v_fma(d, d, square);
    }
    if (j < n) {
        v_store(padding, v_all(mean)); /* lanes after the end differ from the mean by 0 */
        memcpy(padding, x + j, (n - j) * sizeof *x);
        v16 d = v_sub(v_load(padding), v_all(mean));
        square = v_fma(d, d, square);
    }
    float variance = v_fold(square) / (float)n;
    return (struct moments){v_all(mean), v_all(1 / sqrtf(variance + epsilon))};
}

INLINE v16 normalized(const struct moments *m, const float *x, size_t n) {
    return v_mul(v_sub(v_load_upto(x, n), m->mean), m->inverse);
}

/* The normalised value as it is quantised; 0 in lanes after the end. */
INLINE v16 scaled(const struct norm_job *job, const struct moments *m, const float *x,
                  size_t j) {
    size_t n = job->width - j;
    v16 value = normalized(m, x + j, n);
    if (job->norm->quant)
        value = v_mul(value, v_load_upto(job->norm->quant + j, n));
    return value;
}

static void norm_quantize(const struct norm_job *job, size_t r, const float *x,
                          const struct moments *m) {
    uint8_t *data = job->q.data + r * job->q.stride;
    struct range range = range_empty();
    size_t j = 0;
    for (; j + 16 <= job->width; j += 16)
        range_add(&range, scaled(job, m, x, j));
    if (j < job->width) {
        float lane[16];
        v_store(lane, scaled(job, m, x, j));
        range_add(&range, v_load_part(lane, job->width - j));
    }
    float inverse = quantize_scale(&job->q, r, &range);
    for (j = 0; j < job->width; j += 16)
        v_store_bytes(data + j, v_mul(scaled(job, m, x, j), v_all(inverse)),
                      job->q.zero[r]);
    quantize_end(&job->q, r, job->width, inverse);
}

void ISA(layer_norm)(const struct norm_job *job, size_t begin, size_t end) {
    const struct norm *norm = job->norm;
    for (size_t r = begin; r < end; r++) {
        const float *x = job->x + r * job->x_stride;
        struct moments m = moments_of(x, job->width, job->epsilon);
        if (job->q.data)
            norm_quantize(job, r, x, &m);
        if (!job->y)
            continue;
        float *y = job->y + r * job->y_stride;
        for (size_t j = 0; j < job->width; j += 16) {
            size_t n = job->width - j;
            v_store_upto(y + j,
                         v_fma(normalized(&m, x + j, n), v_load_upto(norm->gamma + j, n),
                               v_load_upto(norm->beta + j, n)),
                         n);
        }
    }
}

/* ---- Embedding ------------------------------------------------------------------- */

INLINE v16 table_load(const struct table *table, size_t row, size_t j) {
    size_t i = row * table->width + j, n = table->width - j;
    return table->precision == BERT_F16
               ? v_load_half_upto((const uint16_t *)table->data + i, n)
               : v_load_upto((const float *)table->data + i, n);
}

void ISA(embed)(const struct embed_job *job, size_t begin, size_t end) {
    size_t width = job->word->width;
    for (size_t r = begin; r < end; r++)
        for (size_t j = 0; j < width; j += 16) {
            v16 y = v_add(table_load(job->word, (size_t)job->ids[r], j),
                          table_load(job->type, 0, j));
            y = v_add(y, table_load(job->position, job->positions[r], j));
            v_store_upto(job->y + r * job->y_stride + j, y, width - j);
        }
}

/* ---- Over the vocabulary --------------------------------------------------------- */

float ISA(maximum)(const float *x, size_t n) {
    v16 greatest = v_all(x[0]), nan = v_all(0);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        v16 value = v_load(x + i);
        greatest = v_most(value, greatest);
        nan = v_keep_nan(nan, value);
    }
    float maximum = v_greatest(greatest), sum = v_fold(nan);
    for (; i < n; i++) {
        maximum = x[i] > maximum ? x[i] : maximum;
        sum += isnan(x[i]) ? x[i] : 0;
    }
    return isnan(sum) ? NAN : maximum + 0.0f;
}

float ISA(exp_sum)(const float *x, size_t n, float maximum) {
    v16 sum = v_all(0);
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        sum = v_add(sum, v_exp(v_sub(v_load(x + i), v_all(maximum))));
    if (i < n) {
        float rest[16];
        v_store(rest, v_all(-INFINITY)); /* whose exp is 0 */
        memcpy(rest, x + i, (n - i) * sizeof *x);
        sum = v_add(sum, v_exp(v_sub(v_load(rest), v_all(maximum))));
    }
    return v_fold(sum);
}

#endif
