/* SPDX-License-Identifier: MIT
 *
 * reference.c: the definition of every operation, in plain C, one scalar after the other.
 * Nothing here is fast; everything here is what the other tables must answer, bit by bit.
 */
#include "kernel/polynomial.h"
#include "kernel/tables.h"

#include "base/bytes.h"

#include <float.h>
#include <math.h>

/* ---- Sums ------------------------------------------------------------------------ */

/* Folds 16 partial sums: i with i+8, i+4, i+2, i+1. */
static float fold(float s[16]) {
    for (int half = 8; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            s[i] += s[i + half];
    return s[0];
}

/* Elements from n up to a multiple of 16 count as zeros. */
static float at(const float *x, size_t k, size_t n) {
    return k < n ? x[k] : 0;
}

static size_t whole_sixteens(size_t n) {
    return (n + 15) / 16 * 16;
}

static float dot(const float *a, const float *b, size_t n) {
    float s[16] = {0};
    for (size_t k = 0; k < whole_sixteens(n); k++)
        s[k % 16] = fmaf(at(a, k, n), at(b, k, n), s[k % 16]);
    return fold(s);
}

static float dot_half(const float *a, const uint16_t *b, size_t n) {
    float s[16] = {0};
    for (size_t k = 0; k < whole_sixteens(n); k++)
        s[k % 16] = fmaf(at(a, k, n), k < n ? half_to_float(b[k]) : 0, s[k % 16]);
    return fold(s);
}

/* ---- Functions of one value ------------------------------------------------------ */

static float bits_to_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float exponential(float x) {
    if (x < EXP_LEAST)
        return 0;
    if (x > EXP_MOST)
        x = EXP_MOST;
    float shifted = fmaf(x, EXP_LOG2E, EXP_ROUND), n = shifted - EXP_ROUND;
    float r = fmaf(n, -EXP_LN2_LOW, fmaf(n, -EXP_LN2_HIGH, x));
    float p = fmaf(EXP_E4, r, EXP_E3);
    p = fmaf(p, r, EXP_E2);
    p = fmaf(p, r, EXP_E1);
    p = fmaf(p, r, EXP_E0);
    p = fmaf(p, r, 1);
    p = fmaf(p, r, 1);
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    return p * bits_to_float((bits + 127) << 23);
}

static float gelu(float x) {
    static const float c[GELU_TERMS] = GELU_COEFFICIENTS;
    float square = x * x, half = x * 0.5f;
    if (!(square < GELU_SQUARE))
        return x < 0 ? 0 : x;
    float u = fmaf(square, GELU_SCALE, -1), p = c[GELU_TERMS - 1];
    for (int i = GELU_TERMS - 2; i >= 0; i--)
        p = fmaf(p, u, c[i]);
    return fmaf(half, p * x, half);
}

static float gelu_tanh(float x) {
    return x / (exponential(fmaf(x * x, TANH_CUBIC, TANH_LINEAR) * x) + 1);
}

float reference_activate(float x, enum activation activation) {
    return activation == ACTIVATION_GELU        ? gelu(x)
           : activation == ACTIVATION_GELU_TANH ? gelu_tanh(x)
                                                : x;
}

/* ---- Linear layers --------------------------------------------------------------- */

static void finish(const struct linear_job *job, size_t r, size_t o, float value) {
    float y = reference_activate(value, job->activation);
    if (job->residual)
        y += job->residual[r * job->residual_stride + o];
    job->y[r * job->y_stride + o] = y;
}

void reference_linear_f32(const struct linear_job *job, size_t begin, size_t end) {
    const struct linear *l = job->linear;
    const float *w = l->weight;
    for (size_t r = 0; r < job->rows; r++)
        for (size_t o = begin; o < end; o++)
            finish(job, r, o,
                   dot(job->x + r * job->x_stride, w + o * l->in, l->in) + l->bias[o]);
}

void reference_linear_f16(const struct linear_job *job, size_t begin, size_t end) {
    const struct linear *l = job->linear;
    const uint16_t *w = l->weight;
    for (size_t r = 0; r < job->rows; r++)
        for (size_t o = begin; o < end; o++)
            finish(job, r, o,
                   dot_half(job->x + r * job->x_stride, w + o * l->in, l->in) +
                       l->bias[o]);
}

/* Unsigned arithmetic: a sum that no 32 bits hold wraps, as it does in the other tables.
 */
void reference_linear_int8(const struct linear_job *job, size_t begin, size_t end) {
    const struct linear *l = job->linear;
    size_t groups = (l->in + 3) / 4;
    for (size_t r = 0; r < job->rows; r++) {
        const uint8_t *x = job->q.data + r * job->q.stride;
        for (size_t o = begin; o < end; o++) {
            const int8_t *w =
                (const int8_t *)l->weight + o / 16 * groups * 64 + o % 16 * 4;
            uint32_t sum = -(uint32_t)job->q.zero[r] * (uint32_t)l->sum[o];
            for (size_t k = 0; k < l->in; k++)
                sum += (uint32_t)(x[k] * w[k / 4 * 64 + k % 4]);
            float scale = job->q.scale[r] * l->scale[o];
            finish(job, r, o, fmaf((float)(int32_t)sum, scale, l->bias[o]));
        }
    }
}

/* ---- Quantising ------------------------------------------------------------------ */

struct range { /* of a row, with 0 in it */
    float low, high;
    bool finite;
};

static void range_add(struct range *range, float value) {
    range->low = value < range->low ? value : range->low;
    range->high = value > range->high ? value : range->high;
    range->finite = range->finite && isfinite(value);
}

/* Writes scale and zero of row r and returns what values are multiplied by: 0 where the
 * row is not finite, so that its data are zeros under a scale of NaN. */
static float quantize_scale(const struct quantized *q, size_t r, struct range range) {
    float scale = (range.high - range.low) / 255;
    if (!range.finite || !isfinite(scale)) {
        q->scale[r] = NAN;
        q->zero[r] = 0;
        return 0;
    }
    if (scale < QUANTIZE_LEAST)
        scale = 1;
    float inverse = 1 / scale;
    q->scale[r] = scale;
    q->zero[r] = (int32_t)nearbyintf(-range.low * inverse);
    return inverse;
}

static uint8_t quantize_value(float value, float inverse, int32_t zero) {
    int32_t n = inverse == 0 ? 0 : (int32_t)nearbyintf(value * inverse) + zero;
    return n < 0 ? 0 : n > 255 ? 255 : n;
}

void reference_quantize(const struct quantize_job *job, size_t begin, size_t end) {
    for (size_t r = begin; r < end; r++) {
        const float *x = job->x + r * job->x_stride;
        uint8_t *data = job->q.data + r * job->q.stride;
        struct range range = {0, 0, true};
        for (size_t j = 0; j < job->width; j++)
            range_add(&range, x[j]);
        float inverse = quantize_scale(&job->q, r, range);
        for (size_t j = 0; j < job->width; j++)
            data[j] = quantize_value(x[j], inverse, job->q.zero[r]);
        memset(data + job->width, 0, job->q.stride - job->width);
    }
}

/* ---- LayerNorm ------------------------------------------------------------------- */

struct moments {
    float mean, inverse; /* 1 / sqrt(variance + epsilon) */
};

static struct moments moments_of(const float *x, size_t n, float epsilon) {
    float s[16] = {0}, v[16] = {0};
    for (size_t j = 0; j < n; j++)
        s[j % 16] += x[j];
    float mean = fold(s) / (float)n;
    for (size_t j = 0; j < n; j++)
        v[j % 16] = fmaf(x[j] - mean, x[j] - mean, v[j % 16]);
    return (struct moments){mean, 1 / sqrtf(fold(v) / (float)n + epsilon)};
}

/* The normalised value as it is quantised. */
static float scaled(const struct norm_job *job, struct moments m, const float *x,
                    size_t j) {
    float n = (x[j] - m.mean) * m.inverse;
    return job->norm->quant ? n * job->norm->quant[j] : n;
}

static void norm_quantize(const struct norm_job *job, size_t r, const float *x,
                          struct moments m) {
    uint8_t *data = job->q.data + r * job->q.stride;
    struct range range = {0, 0, true};
    for (size_t j = 0; j < job->width; j++)
        range_add(&range, scaled(job, m, x, j));
    float inverse = quantize_scale(&job->q, r, range);
    for (size_t j = 0; j < job->width; j++)
        data[j] = quantize_value(scaled(job, m, x, j), inverse, job->q.zero[r]);
    memset(data + job->width, 0, job->q.stride - job->width);
}

void reference_layer_norm(const struct norm_job *job, size_t begin, size_t end) {
    for (size_t r = begin; r < end; r++) {
        const float *x = job->x + r * job->x_stride;
        struct moments m = moments_of(x, job->width, job->epsilon);
        if (job->q.data)
            norm_quantize(job, r, x, m);
        if (!job->y)
            continue;
        float *y = job->y + r * job->y_stride;
        for (size_t j = 0; j < job->width; j++)
            y[j] = fmaf((x[j] - m.mean) * m.inverse, job->norm->gamma[j],
                        job->norm->beta[j]);
    }
}

/* ---- Embedding ------------------------------------------------------------------- */

static float table_value(const struct table *table, size_t row, size_t j) {
    size_t i = row * table->width + j;
    return table->precision == BERT_F16
               ? half_to_float(((const uint16_t *)table->data)[i])
               : ((const float *)table->data)[i];
}

void reference_embed(const struct embed_job *job, size_t begin, size_t end) {
    for (size_t r = begin; r < end; r++)
        for (size_t j = 0; j < job->word->width; j++)
            job->y[r * job->y_stride + j] =
                (table_value(job->word, (size_t)job->ids[r], j) +
                 table_value(job->type, 0, j)) +
                table_value(job->position, job->positions[r], j);
}

/* ---- Attention ------------------------------------------------------------------- */

/* context (width) of one query over keys and values (n, width). */
static void attend(const struct attention_job *job, size_t n, const float *query,
                   const float *keys, const float *values, float *context) {
    float scale = 1 / sqrtf((float)job->width), maximum = -INFINITY, sum[16] = {0};
    for (size_t j = 0; j < n; j++) {
        float score = dot(query, keys + j * job->key_stride, job->width) * scale;
        maximum = score > maximum ? score : maximum;
    }
    for (size_t d = 0; d < job->width; d++)
        context[d] = 0;
    for (size_t j = 0; j < n; j++) {
        float score = dot(query, keys + j * job->key_stride, job->width) * scale;
        float p = exponential(score - maximum);
        sum[j % 16] += p;
        for (size_t d = 0; d < job->width; d++)
            context[d] = fmaf(p, values[j * job->value_stride + d], context[d]);
    }
    float inverse = 1 / fold(sum);
    for (size_t d = 0; d < job->width; d++)
        context[d] *= inverse;
}

void reference_attention(const struct attention_job *job, size_t begin, size_t end) {
    for (size_t unit = begin; unit < end; unit++) {
        size_t s = unit / job->heads, column = unit % job->heads * job->width;
        size_t first = job->row_start[s], n = job->row_start[s + 1] - first;
        for (size_t r = job->query_start[s]; r < job->query_start[s + 1]; r++)
            attend(job, n, job->query + r * job->query_stride + column,
                   job->key + first * job->key_stride + column,
                   job->value + first * job->value_stride + column,
                   job->context + r * job->context_stride + column);
    }
}

/* ---- Over the vocabulary --------------------------------------------------------- */

float reference_maximum(const float *x, size_t n) {
    float maximum = x[0];
    for (size_t i = 0; i < n; i++) {
        if (isnan(x[i]))
            return NAN;
        maximum = x[i] > maximum ? x[i] : maximum;
    }
    return maximum + 0.0f; /* one zero, not two */
}

float reference_exp_sum(const float *x, size_t n, float maximum) {
    float s[16] = {0};
    for (size_t i = 0; i < n; i++)
        s[i % 16] += exponential(x[i] - maximum);
    return fold(s);
}

DEFINE_TABLE(reference, reference, reference);
