/* SPDX-License-Identifier: MIT
 *
 * kernel_cases.h: every operation of a kernel table on inputs that hurt (odd sizes,
 * starts off any boundary, one row, extreme values, NaN and infinity), its answers
 * recorded one after the other. Two tables that give the same bits leave the same record,
 * on whatever machines they ran. Plain C without a framework, so that it also runs where
 * Check is not. */
#ifndef UNIT_KERNEL_CASES_H
#define UNIT_KERNEL_CASES_H

#include "base/bytes.h"
#include "kernel/tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- The record ------------------------------------------------------------------ */

struct record {
    struct buffer bits;   /* uint32 a value */
    struct buffer labels; /* struct label */
    int alone;            /* rows or parts that answered otherwise alone than together */
};
struct label {
    char text[80];
    size_t offset; /* in bits */
};

static void record_label(struct record *record, const char *text) {
    struct label label = {.offset = record->bits.size};
    snprintf(label.text, sizeof label.text, "%s", text);
    buffer_add(&record->labels, &label, sizeof label);
}

/* All NaN count as one: their signs and payloads differ between architectures. */
static void record_floats(struct record *record, const float *x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        if (isnan(x[i]))
            bits = 0x7fc00000;
        buffer_add(&record->bits, &bits, sizeof bits);
    }
}

static void record_bytes(struct record *record, const uint8_t *x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = x[i];
        buffer_add(&record->bits, &bits, sizeof bits);
    }
}

static void record_release(struct record *record) {
    buffer_release(&record->bits);
    buffer_release(&record->labels);
}

/* Where b first differs from a, in words; NULL when nowhere. */
static inline const char *record_difference(const struct record *a,
                                            const struct record *b) {
    static char text[160];
    const struct label *label = (const void *)a->labels.data;
    size_t labels = a->labels.size / sizeof *label, at = 0, i = 0;
    while (at < a->bits.size && at < b->bits.size &&
           !memcmp(a->bits.data + at, b->bits.data + at, 4))
        at += 4;
    if (at == a->bits.size && at == b->bits.size)
        return NULL;
    while (i + 1 < labels && label[i + 1].offset <= at)
        i++;
    uint32_t left = at < a->bits.size ? load_u32(a->bits.data + at) : 0;
    uint32_t right = at < b->bits.size ? load_u32(b->bits.data + at) : 0;
    snprintf(text, sizeof text, "%s: value %zu is %08x, not %08x", label[i].text,
             (at - label[i].offset) / 4, (unsigned)right, (unsigned)left);
    return text;
}

/* ---- Inputs ---------------------------------------------------------------------- */

static uint64_t case_state;

static uint32_t case_random(void) { /* xorshift64*: the same on every machine */
    case_state ^= case_state >> 12;
    case_state ^= case_state << 25;
    case_state ^= case_state >> 27;
    return (uint32_t)(case_state * 0x2545f4914f6cdd1du >> 32);
}

static size_t case_below(size_t n) {
    return case_random() % n;
}

static float case_float(float limit) {
    return ((float)(int32_t)case_random() / 2147483648.0f) * limit;
}

enum kind { PLAIN, WILD, POISON }; /* of about 1; of any size; with NaN and infinity */

static float case_value(enum kind kind) {
    static const float odd[] = {0, -0.0f, 1e-41f, -1e-44f, 3e38f, -3e38f, 1e-30f, 65504};
    if (kind == PLAIN)
        return case_float(2);
    if (kind == POISON && case_below(40) == 0)
        return case_below(2) ? NAN : case_below(2) ? INFINITY : -INFINITY;
    if (case_below(8) == 0)
        return odd[case_below(sizeof odd / sizeof odd[0])];
    int exponent = (int)case_below(60) - 30;
    return ldexpf(case_float(1), exponent);
}

/* n floats that start 4 bytes after a boundary of 64 and end where the memory ends, so
 * that the sanitizer sees a read past them. free(base). */
struct floats {
    void *base;
    float *x;
};

static struct floats case_floats(size_t n, enum kind kind) {
    struct floats f = {.base = aligned_alloc(64, (4 + 4 * n + 63) / 64 * 64)};
    size_t bytes = (4 + 4 * n + 63) / 64 * 64;
    f.x = (float *)((char *)f.base + bytes - 4 * n);
    for (size_t i = 0; i < n; i++)
        f.x[i] = case_value(kind);
    return f;
}

static void *case_halves(size_t n, enum kind kind, uint16_t **halves) {
    size_t bytes = (2 + 2 * n + 63) / 64 * 64;
    char *base = aligned_alloc(64, bytes);
    *halves = (uint16_t *)(base + bytes - 2 * n);
    for (size_t i = 0; i < n; i++)
        (*halves)[i] = float_to_half(case_value(kind));
    return base;
}

/* ---- Linear layers --------------------------------------------------------------- */

static void case_run_linear(const struct kernel_table *table,
                            const struct linear_job *job, size_t begin, size_t end) {
    (job->linear->precision == BERT_INT8  ? table->linear_int8
     : job->linear->precision == BERT_F16 ? table->linear_f16
                                          : table->linear_f32)(job, begin, end);
}

/* The layer whole; in parts, last first; and each row alone: all must agree. */
static void case_linear_job(struct record *record, const struct kernel_table *table,
                            struct linear_job *job, float *y, size_t count) {
    size_t out = job->linear->out, rows = job->rows, bytes = count * sizeof *y;
    float *start = malloc(bytes), *whole = malloc(bytes);
    memcpy(start, y, bytes);
    case_run_linear(table, job, 0, out);
    memcpy(whole, y, bytes);
    record_floats(record, y, count);

    memcpy(y, start, bytes);
    size_t parts = (out + 31) / 32;
    for (size_t part = parts; part-- > 0;)
        case_run_linear(table, job, part * 32, part + 1 == parts ? out : part * 32 + 32);
    struct record a = {0}, b = {0}, c = {0};
    record_floats(&a, whole, count);
    record_floats(&b, y, count);

    memcpy(y, start, bytes);
    for (size_t r = 0; r < rows; r++) {
        struct linear_job one = *job;
        one.rows = 1;
        if (one.x)
            one.x += r * job->x_stride;
        if (one.q.data)
            one.q = (struct quantized){one.q.data + r * job->q.stride, job->q.stride,
                                       one.q.scale + r, one.q.zero + r};
        one.y += r * job->y_stride;
        if (one.residual)
            one.residual += r * job->residual_stride;
        case_run_linear(table, &one, 0, out);
    }
    record_floats(&c, y, count);
    record->alone += !span_equal((struct span){a.bits.data, a.bits.size},
                                 (struct span){b.bits.data, b.bits.size});
    record->alone += !span_equal((struct span){a.bits.data, a.bits.size},
                                 (struct span){c.bits.data, c.bits.size});
    record_release(&a);
    record_release(&b);
    record_release(&c);
    free(start);
    free(whole);
}

struct linear_case {
    size_t in, out, rows;
    enum kind kind;
    enum activation activation;
    int residual; /* 0 none, 1 its own rows, 2 the output itself */
};

static void case_linear_float(struct record *record, const struct kernel_table *table,
                              const struct linear_case *c,
                              enum bert_precision precision) {
    uint16_t *halves = NULL;
    size_t x_stride = c->in + 3, y_stride = c->out + 5;
    struct floats x = case_floats(c->rows * x_stride, c->kind);
    struct floats w = case_floats(precision == BERT_F16 ? 1 : c->in * c->out, c->kind);
    void *h =
        precision == BERT_F16 ? case_halves(c->in * c->out, c->kind, &halves) : NULL;
    struct floats bias = case_floats(c->out, c->kind == POISON ? WILD : c->kind);
    size_t count = (c->rows - 1) * y_stride + c->out;
    struct floats y = case_floats(count, PLAIN), residual = case_floats(count, c->kind);
    struct linear linear = {.precision = precision,
                            .in = c->in,
                            .out = c->out,
                            .weight = h ? (void *)halves : (void *)w.x,
                            .bias = bias.x};
    struct linear_job job = {.linear = &linear,
                             .rows = c->rows,
                             .x = x.x,
                             .x_stride = x_stride,
                             .y = y.x,
                             .y_stride = y_stride,
                             .activation = c->activation,
                             .residual = c->residual == 0   ? NULL
                                         : c->residual == 1 ? residual.x
                                                            : y.x,
                             .residual_stride = y_stride};
    case_linear_job(record, table, &job, y.x, count);
    free(x.base);
    free(w.base);
    free(h);
    free(bias.base);
    free(y.base);
    free(residual.base);
}

/* extreme: all bytes at their limits, so that a sum that saturates shows. */
static void case_linear_int8(struct record *record, const struct kernel_table *table,
                             const struct linear_case *c, bool extreme) {
    size_t groups = (c->in + 3) / 4, panels = (c->out + 15) / 16,
           size = panels * groups * 64;
    size_t stride = (c->in + 63) / 64 * 64, y_stride = c->out + 1;
    int8_t *w = aligned_alloc(64, size);
    uint8_t *data = aligned_alloc(64, c->rows * stride);
    int32_t *sum = calloc(panels * 16, sizeof *sum),
            *zero = calloc(c->rows, sizeof *zero);
    struct floats scale = case_floats(panels * 16, PLAIN),
                  bias = case_floats(panels * 16, PLAIN);
    struct floats x_scale = case_floats(c->rows, c->kind == POISON ? POISON : PLAIN);
    memset(w, 0, size);
    memset(data, 0, c->rows * stride);
    for (size_t o = 0; o < c->out; o++)
        for (size_t k = 0; k < c->in; k++) {
            int q = extreme ? (o % 3 ? 127 : -127) : (int)case_below(255) - 127;
            w[o / 16 * groups * 64 + k / 4 * 64 + o % 16 * 4 + k % 4] = (int8_t)q;
            sum[o] += q;
        }
    for (size_t r = 0; r < c->rows; r++) {
        zero[r] = extreme ? (int32_t)(r % 2 * 255) : (int32_t)case_below(256);
        for (size_t k = 0; k < c->in; k++)
            data[r * stride + k] = extreme ? (r % 3 ? 255 : 0) : (uint8_t)case_below(256);
    }
    size_t count = (c->rows - 1) * y_stride + c->out;
    struct floats y = case_floats(count, PLAIN);
    struct linear linear = {.precision = BERT_INT8,
                            .in = c->in,
                            .out = c->out,
                            .weight = w,
                            .bias = bias.x,
                            .scale = scale.x,
                            .sum = sum};
    struct linear_job job = {.linear = &linear,
                             .rows = c->rows,
                             .q = {data, stride, x_scale.x, zero},
                             .y = y.x,
                             .y_stride = y_stride,
                             .activation = c->activation,
                             .residual = c->residual ? y.x : NULL,
                             .residual_stride = y_stride};
    case_linear_job(record, table, &job, y.x, count);
    free(w);
    free(data);
    free(sum);
    free(zero);
    free(scale.base);
    free(bias.base);
    free(x_scale.base);
    free(y.base);
}

static void cases_linear(struct record *record, const struct kernel_table *table) {
    static const struct linear_case cases[] = {
        {1, 1, 1, PLAIN, ACTIVATION_NONE, 0},
        {15, 7, 2, PLAIN, ACTIVATION_GELU, 1},
        {16, 8, 3, WILD, ACTIVATION_NONE, 2},
        {17, 33, 5, WILD, ACTIVATION_GELU, 0},
        {33, 17, 8, POISON, ACTIVATION_GELU, 1},
        {48, 100, 4, POISON, ACTIVATION_GELU_TANH, 2},
        {64, 32, 16, PLAIN, ACTIVATION_GELU_TANH, 0},
        {100, 47, 13, PLAIN, ACTIVATION_GELU, 2},
        {768, 70, 6, PLAIN, ACTIVATION_NONE, 1},
        {1024, 31, 7, WILD, ACTIVATION_NONE, 0},
        {1025, 36, 12, PLAIN, ACTIVATION_GELU, 0},
        {2051, 19, 9, PLAIN, ACTIVATION_NONE, 2},
        {3072, 24, 10, WILD, ACTIVATION_NONE, 1},
        {3072, 3, 391, PLAIN, ACTIVATION_NONE, 0},
        {30, 65, 201, PLAIN, ACTIVATION_GELU, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct linear_case *c = &cases[i];
        char text[80];
        for (int f = BERT_F32; f <= BERT_INT8; f++) {
            snprintf(text, sizeof text, "linear of kind %d, %zu in, %zu out, %zu rows", f,
                     c->in, c->out, c->rows);
            record_label(record, text);
            if (f == BERT_INT8) {
                case_linear_int8(record, table, c, false);
                case_linear_int8(record, table, c, true);
            } else {
                case_linear_float(record, table, c, f);
            }
        }
    }
}

/* ---- Rows ------------------------------------------------------------------------ */

static void case_record_quantized(struct record *record, const struct quantized *q,
                                  size_t rows) {
    record_bytes(record, q->data, rows * q->stride);
    record_floats(record, q->scale, rows);
    for (size_t r = 0; r < rows; r++)
        record_bytes(record, (const uint8_t *)&q->zero[r], sizeof q->zero[r]);
}

static struct quantized case_quantized(size_t rows, size_t width) {
    struct quantized q = {.stride = (width + 63) / 64 * 64,
                          .scale = calloc(rows, sizeof(float)),
                          .zero = calloc(rows, sizeof(int32_t))};
    q.data = aligned_alloc(64, rows * q.stride);
    memset(q.data, 7, rows * q.stride);
    return q;
}

static void case_free_quantized(struct quantized *q) {
    free(q->data);
    free(q->scale);
    free(q->zero);
}

/* Rows that are constant, tiny, huge, or not finite in one place only. */
static void case_odd_rows(float *x, size_t rows, size_t stride, size_t width) {
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < width; j++) {
            float *value = &x[r * stride + j];
            *value = r % 8 == 1   ? 3.5f
                     : r % 8 == 2 ? *value * 1e-38f
                     : r % 8 == 3 ? *value * 1e38f
                     : r % 8 == 4 ? 0
                     : r % 8 == 5 ? fabsf(*value)
                     : r % 8 == 6 ? -fabsf(*value)
                                  : *value;
            if (r >= 8 && j == width - 1)
                *value = r % 3 == 0 ? NAN : r % 3 == 1 ? INFINITY : -INFINITY;
        }
}

static void case_rows(struct record *record, const struct kernel_table *table,
                      size_t width, bool quant, bool in_place) {
    const size_t rows = 12, stride = width + 1;
    struct floats x = case_floats(rows * stride, PLAIN),
                  y = case_floats(rows * stride, PLAIN);
    struct floats gamma = case_floats(width, PLAIN), beta = case_floats(width, PLAIN);
    struct floats factor = case_floats(width, PLAIN);
    struct quantized q = case_quantized(rows, width);
    struct norm norm = {gamma.x, beta.x, quant ? factor.x : NULL};
    case_odd_rows(x.x, rows, stride, width);
    struct quantize_job quantize = {rows, width, x.x, stride, q};
    table->quantize(&quantize, 0, 5);
    table->quantize(&quantize, 5, rows);
    case_record_quantized(record, &q, rows);
    float *to = in_place ? x.x : y.x;
    struct norm_job job = {rows, width, x.x, stride, &norm, 1e-12f, NULL, 0, q};
    table->layer_norm(&job, 0, rows);
    case_record_quantized(record, &q, rows);
    memset(q.data, 9, rows * q.stride);
    job.y = to;
    job.y_stride = stride;
    table->layer_norm(&job, 0, 7);
    table->layer_norm(&job, 7, rows);
    case_record_quantized(record, &q, rows);
    record_floats(record, to, rows * stride);
    job.q.data = NULL;
    job.x = to;
    table->layer_norm(&job, 0, rows);
    record_floats(record, to, rows * stride);
    case_free_quantized(&q);
    free(x.base);
    free(y.base);
    free(gamma.base);
    free(beta.base);
    free(factor.base);
}

static void case_embed(struct record *record, const struct kernel_table *table,
                       size_t width) {
    const int32_t ids[5] = {3, 0, 6, 6, 1};
    const uint32_t positions[5] = {0, 1, 2, 0, 1};
    uint16_t *halves;
    struct floats word = case_floats(7 * width, WILD),
                  type = case_floats(2 * width, WILD);
    struct floats y = case_floats(5 * (width + 2), PLAIN);
    void *base = case_halves(3 * width, PLAIN, &halves);
    struct table words = {BERT_F32, 7, width, word.x},
                 types = {BERT_F32, 2, width, type.x};
    struct table places = {BERT_F16, 3, width, halves};
    struct embed_job job = {5, &words, &places, &types, ids, positions, y.x, width + 2};
    table->embed(&job, 0, 2);
    table->embed(&job, 2, 5);
    record_floats(record, y.x, 5 * (width + 2));
    free(word.base);
    free(type.base);
    free(y.base);
    free(base);
}

static void cases_rows(struct record *record, const struct kernel_table *table) {
    static const size_t widths[] = {1, 2, 15, 16, 17, 48, 100, 256, 768, 1023};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        char text[80];
        snprintf(text, sizeof text, "rows %zu wide", widths[i]);
        record_label(record, text);
        case_rows(record, table, widths[i], i % 2 == 0, i % 3 == 0);
        case_embed(record, table, widths[i]);
    }
}

/* ---- Attention ------------------------------------------------------------------- */

static void case_attention(struct record *record, const struct kernel_table *table,
                           size_t width, size_t heads, const size_t *keys,
                           const size_t *queries, size_t sequences, enum kind kind) {
    size_t row_start[9] = {0}, query_start[9] = {0};
    for (size_t s = 0; s < sequences; s++) {
        row_start[s + 1] = row_start[s] + keys[s];
        query_start[s + 1] = query_start[s] + queries[s];
    }
    size_t rows = row_start[sequences], asked = query_start[sequences];
    size_t stride = heads * width + 3, units = sequences * heads;
    struct floats q = case_floats(asked * stride, kind),
                  k = case_floats(rows * stride, kind);
    struct floats v = case_floats(rows * stride, kind);
    struct floats c = case_floats(asked * stride, PLAIN);
    struct attention_job job = {sequences, heads, width, row_start, query_start,
                                q.x,       k.x,   v.x,   stride,    stride,
                                stride,    c.x,   stride};
    table->attention(&job, units / 2, units);
    table->attention(&job, 0, units / 2);
    record_floats(record, c.x, asked * stride);
    free(q.base);
    free(k.base);
    free(v.base);
    free(c.base);
}

static void cases_attention(struct record *record, const struct kernel_table *table) {
    static const size_t keys[] = {1, 16, 7, 33, 3, 100}, fewer[] = {1, 4, 7, 2, 0, 5};
    static const size_t widths[] = {1, 8, 16, 20, 64, 80, 128};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        char text[80];
        snprintf(text, sizeof text, "attention %zu wide", widths[i]);
        record_label(record, text);
        case_attention(record, table, widths[i], 3, keys, i % 2 ? keys : fewer, 6, PLAIN);
        case_attention(record, table, widths[i], 1, keys, fewer, 6, POISON);
        case_attention(record, table, widths[i], 2, keys, keys, 4, WILD);
    }
    record_label(record, "attention over long sequences");
    const size_t long_keys[] = {511, 512, 513, 1100}, few[] = {2, 1, 3, 4};
    case_attention(record, table, 64, 1, long_keys, few, 4, PLAIN);
    case_attention(record, table, 24, 2, long_keys, few, 4, PLAIN);
}

/* ---- Over the vocabulary --------------------------------------------------------- */

static void cases_vocabulary(struct record *record, const struct kernel_table *table) {
    record_label(record, "maximum and exp_sum");
    for (size_t n = 1; n < 21128; n = n * 5 / 4 + 1)
        for (int kind = PLAIN; kind <= POISON; kind++) {
            struct floats x = case_floats(n, kind);
            float result[4] = {table->maximum(x.x, n)};
            result[1] = table->exp_sum(x.x, n, result[0]);
            result[2] = table->exp_sum(x.x, n, 1);
            result[3] = table->exp_sum(x.x, n, 100);
            record_floats(record, result, 4);
            free(x.base);
        }
}

/* ---- All ------------------------------------------------------------------------- */

static void cases_record(struct record *record, const struct kernel_table *table) {
    case_state = 0x9e3779b97f4a7c15u;
    cases_linear(record, table);
    cases_rows(record, table);
    cases_attention(record, table);
    cases_vocabulary(record, table);
}

#endif
