/* SPDX-License-Identifier: MIT
 *
 * attention.h: multi-head attention by tiles of up to ATTENTION_QUERIES. Their scores lie
 * side by side on the stack, at most ATTENTION_KEYS at a time. A longer sequence goes by
 * twice, first for the greatest score alone, then block after block for the weights and
 * the context. Rows of keys and values lie a page or more apart, so where many queries
 * come they are packed first: both, or the keys alone, or nothing where they are too
 * many. Included once by each table's file, after linear_float.h, whose tiles make the
 * scores. */
#ifndef KERNEL_ATTENTION_H
#define KERNEL_ATTENTION_H

#include "kernel/linear_float.h"

#include <math.h>

enum { ATTENTION_KEYS = 512, ATTENTION_PACKED = 65536, PACK_QUERIES = 8 };

struct attend { /* one tile */
    const struct attention_job *job;
    size_t queries, keys;
    const float *query, *key, *value;
    size_t key_stride, value_stride;
    float *context;
    float maximum[ATTENTION_QUERIES];
    v16 sum[ATTENTION_QUERIES];
    _Alignas(64) float scores[ATTENTION_QUERIES][ATTENTION_KEYS]; /* then the weights */
    _Alignas(64) float packed[ATTENTION_PACKED];                  /* keys, then values */
};

/* Scores against keys first .. first + n, not scaled yet; -inf up to a multiple of 16. */
static void attend_scores(struct attend *t, size_t first, size_t n) {
    struct block b = {.x = t->query,
                      .x_stride = t->job->query_stride,
                      .w = t->key + first * t->key_stride,
                      .w_stride = t->key_stride,
                      .n = t->job->width,
                      .dots = t->scores[0],
                      .dots_stride = ATTENTION_KEYS,
                      .first = true,
                      .last = true};
    block_plain(&b, t->queries, n);
    for (size_t i = 0; i < t->queries; i++)
        for (size_t j = n; j % 16; j++)
            t->scores[i][j] = -INFINITY;
}

static void attend_maximum(struct attend *t, size_t n) {
    v16 scale = v_all(1 / sqrtf((float)t->job->width));
    for (size_t i = 0; i < t->queries; i++) {
        v16 greatest = v_all(t->maximum[i]);
        for (size_t j = 0; j < n; j += 16) {
            v16 score = v_mul(v_load(&t->scores[i][j]), scale);
            v_store(&t->scores[i][j], score);
            greatest = v_most(score, greatest);
        }
        t->maximum[i] = v_greatest(greatest);
    }
}

/* Scores to weights exp(score - maximum), and their sums. */
static void attend_weights(struct attend *t, size_t n) {
    for (size_t i = 0; i < t->queries; i++)
        for (size_t j = 0; j < n; j += 16) {
            v16 score = v_load(&t->scores[i][j]);
            v16 weight = v_exp(v_sub(score, v_all(t->maximum[i])));
            v_store(&t->scores[i][j], weight);
            t->sum[i] = v_add(t->sum[i], weight);
        }
}

/* Adds weight · value of n keys to some columns of the context of rows queries from q on;
 * width: of the last vector. */
INLINE void attend_columns(struct attend *t, size_t first, size_t n, size_t q,
                           size_t column, int rows, int vectors, size_t width) {
    v16 s[ATTENTION_QUERIES][CONTEXT_VECTORS];
    const float *value = t->value + first * t->value_stride + column;
    float *context = t->context + q * t->job->context_stride + column;
    EACH (i, rows)
        EACH (c, vectors)
            s[i][c] = first == 0
                          ? v_all(0)
                          : v_load_upto(context + (size_t)i * t->job->context_stride +
                                            (size_t)c * 16,
                                        width);
    for (size_t j = 0; j < n; j++, value += t->value_stride)
        EACH (c, vectors)
            EACH (p, V_PARTS) {
                vreg v = width < 16 ? v_load_part(value + c * 16, width).r[p]
                                    : r_load(value + c * 16 + p * V_LANES);
                if (rows > 1)
                    v = r_keep(v);
                EACH (i, rows)
                    s[i][c].r[p] =
                        r_fma(r_all(t->scores[q + (size_t)i][j]), v, s[i][c].r[p]);
            }
    EACH (i, rows)
        EACH (c, vectors)
            v_store_upto(context + (size_t)i * t->job->context_stride + (size_t)c * 16,
                         s[i][c], width);
}

INLINE void attend_queries(struct attend *t, size_t first, size_t n, size_t q, int rows) {
    size_t column = 0, width = t->job->width;
    for (; column + 16 * CONTEXT_VECTORS <= width; column += 16 * CONTEXT_VECTORS)
        attend_columns(t, first, n, q, column, rows, CONTEXT_VECTORS, 16);
    for (; column + 16 <= width; column += 16)
        attend_columns(t, first, n, q, column, rows, 1, 16);
    if (column < width)
        attend_columns(t, first, n, q, column, rows, 1, width - column);
}

static void attend_context(struct attend *t, size_t first, size_t n) {
    size_t q = 0;
    for (; q + ATTENTION_QUERIES <= t->queries; q += ATTENTION_QUERIES)
        attend_queries(t, first, n, q, ATTENTION_QUERIES);
    for (; q + 2 <= t->queries; q += 2)
        attend_queries(t, first, n, q, 2);
    if (q < t->queries)
        attend_queries(t, first, n, q, 1);
}

static void attend_finish(struct attend *t) {
    for (size_t i = 0; i < t->queries; i++) {
        float *context = t->context + i * t->job->context_stride;
        v16 inverse = v_all(1 / v_fold(t->sum[i]));
        for (size_t d = 0; d < t->job->width; d += 16) {
            size_t n = t->job->width - d;
            v_store_upto(context + d, v_mul(v_load_upto(context + d, n), inverse), n);
        }
    }
}

static void attend_tile(struct attend *t) {
    bool whole = t->keys <= ATTENTION_KEYS;
    for (size_t i = 0; i < t->queries; i++) {
        t->maximum[i] = -INFINITY;
        t->sum[i] = v_all(0);
    }
    for (int last = whole; last < 2; last++)
        for (size_t first = 0; first < t->keys; first += ATTENTION_KEYS) {
            size_t n =
                t->keys - first < ATTENTION_KEYS ? t->keys - first : ATTENTION_KEYS;
            attend_scores(t, first, n);
            attend_maximum(t, n); /* the second time it only scales */
            if (!last)
                continue;
            attend_weights(t, n);
            attend_context(t, first, n);
        }
    attend_finish(t);
}

static const float *pack_rows(float *packed, const float *from, size_t *stride,
                              size_t rows, size_t width) {
    for (size_t r = 0; r < rows; r++)
        for (size_t d = 0; d < width; d += 16)
            v_store_upto(packed + r * width + d,
                         v_load_upto(from + r * *stride + d, width - d), width - d);
    *stride = width;
    return packed;
}

static void attend_pack(struct attend *t, size_t queries) {
    size_t width = t->job->width, size = t->keys * width;
    if (queries < PACK_QUERIES || size > ATTENTION_PACKED)
        return;
    t->key = pack_rows(t->packed, t->key, &t->key_stride, t->keys, width);
    if (2 * size <= ATTENTION_PACKED)
        t->value =
            pack_rows(t->packed + size, t->value, &t->value_stride, t->keys, width);
}

void ISA(attention)(const struct attention_job *job, size_t begin, size_t end) {
    struct attend t;
    t.job = job;
    for (size_t unit = begin; unit < end; unit++) {
        size_t s = unit / job->heads, column = unit % job->heads * job->width;
        size_t row = job->row_start[s];
        size_t first = job->query_start[s], last = job->query_start[s + 1];
        t.keys = job->row_start[s + 1] - row;
        t.key_stride = job->key_stride;
        t.value_stride = job->value_stride;
        t.key = job->key + row * job->key_stride + column;
        t.value = job->value + row * job->value_stride + column;
        attend_pack(&t, last - first);
        for (size_t r = first; r < last; r += ATTENTION_QUERIES) {
            t.queries = last - r < ATTENTION_QUERIES ? last - r : ATTENTION_QUERIES;
            t.query = job->query + r * job->query_stride + column;
            t.context = job->context + r * job->context_stride + column;
            attend_tile(&t);
        }
    }
}

#endif
