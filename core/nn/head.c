/* SPDX-License-Identifier: MIT
 *
 * head.c: the vocabulary's rows are split over the workers; then each request's soft-max
 * and selection belong to one worker, so that their sums have one order. */
#include "nn/head.h"

#include "nn/topk.h"

#include <math.h>
#include <stdbool.h>

struct answer_phase {
    struct pass *pass;
    const struct request *requests;
    struct reply *replies;
};

/* Every exponent below all ones; the bits are tested, since infinities must not hide in
 * the comparisons of a maximum. */
static bool all_finite(const float *x, size_t n) {
    enum { BLOCK = 64 };
    uint32_t bad = 0, bits[BLOCK];
    size_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK) {
        memcpy(bits, x + i, sizeof bits);
        for (int j = 0; j < BLOCK; j++)
            bad |= (bits[j] & 0x7f800000u) == 0x7f800000u;
    }
    for (; i < n; i++)
        bad |= !isfinite(x[i]);
    return bad == 0;
}

static void answer(const struct kernel_table *table, const float *logits,
                   size_t vocabulary, const struct request *request,
                   struct reply *reply) {
    reply->finite = all_finite(logits, vocabulary);
    if (!reply->finite)
        return;
    float maximum = table->maximum(logits, vocabulary);
    float log_sum = (float)log((double)table->exp_sum(logits, vocabulary, maximum));
    reply->best_count =
        topk_select(table, logits, vocabulary, request->allowed, request->k, reply->best);
    for (int i = 0; i < reply->best_count; i++)
        reply->best[i].log_probability =
            reply->best[i].log_probability - maximum - log_sum;
    for (size_t i = 0; i < request->listed_count; i++)
        reply->listed[i] = logits[request->listed[i]] - maximum - log_sum;
}

static void answer_task(void *arg, size_t begin, size_t end, int worker) {
    const struct answer_phase *phase = arg;
    const struct pass *pass = phase->pass;
    const struct workspace *w = &pass->workspace;
    for (size_t i = begin; i < end; i++)
        answer(pass->table, w->logits + i * w->logit_stride,
               (size_t)pass->weights->config.vocabulary, &phase->requests[i],
               &phase->replies[i]);
}

static void transform(struct pass *p, size_t rows) {
    const struct weights *weights = p->weights;
    struct workspace *w = &p->workspace;
    struct linear_job linear = {.linear = &weights->transform,
                                .rows = rows,
                                .x = w->hidden,
                                .x_stride = w->hidden_stride,
                                .y = w->context,
                                .y_stride = w->hidden_stride,
                                .activation = weights->config.activation};
    pass_linear(p, &linear, 0, weights->transform.out);
    struct norm_job norm = {.rows = rows,
                            .width = (size_t)weights->config.hidden,
                            .x = w->context,
                            .x_stride = w->hidden_stride,
                            .norm = &weights->transform_norm,
                            .epsilon = weights->config.epsilon,
                            .y = w->context,
                            .y_stride = w->hidden_stride};
    pass_norm(p, &norm);
}

void head_run(struct pass *pass, const struct request *requests, size_t count,
              struct reply *replies) {
    const struct linear *decoder = &pass->weights->decoder;
    struct workspace *w = &pass->workspace;
    transform(pass, count);
    for (size_t begin = 0; begin < count; begin += LOGIT_ROWS) {
        size_t rows = count - begin < LOGIT_ROWS ? count - begin : LOGIT_ROWS;
        struct linear_job job = {.linear = decoder,
                                 .rows = rows,
                                 .x = w->context + begin * w->hidden_stride,
                                 .x_stride = w->hidden_stride,
                                 .y = w->logits,
                                 .y_stride = w->logit_stride};
        pass_linear(pass, &job, 0, decoder->out);
        struct answer_phase phase = {pass, requests + begin, replies + begin};
        pool_run(pass->pool, rows, 1, answer_task, &phase);
    }
}
