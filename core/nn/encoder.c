/* SPDX-License-Identifier: MIT
 *
 * encoder.c: the residual stream stays in one zone and is updated in place: a linear
 * layer adds onto it, a LayerNorm rewrites it (and quantises it for the next int8 layer
 * while at it). In the last layer keys and values are computed for all rows; then the
 * requested rows move to the front, and all the rest is done for them alone. */
#include "nn/encoder.h"

/* x (rows, in) · wᵀ → y, outputs begin..end. x is quantised already in q for int8. */
static struct linear_job linear_of(const struct linear *linear, size_t rows,
                                   const float *x, size_t x_stride, struct quantized q,
                                   float *y, size_t y_stride) {
    return (struct linear_job){.linear = linear,
                               .rows = rows,
                               .x = x,
                               .x_stride = x_stride,
                               .q = q,
                               .y = y,
                               .y_stride = y_stride};
}

/* The residual stream through norm; also quantised when next, the layer that reads it, is
 * int8. NULL: none is to follow. */
static void normalize(struct pass *p, const struct norm *norm, size_t rows,
                      const struct linear *next) {
    struct workspace *w = &p->workspace;
    struct norm_job job = {.rows = rows,
                           .width = (size_t)p->weights->config.hidden,
                           .x = w->hidden,
                           .x_stride = w->hidden_stride,
                           .norm = norm,
                           .epsilon = p->weights->config.epsilon,
                           .y = w->hidden,
                           .y_stride = w->hidden_stride};
    if (next != NULL && next->precision == BERT_INT8)
        job.q = w->narrow;
    pass_norm(p, &job);
}

static void quantize_for(struct pass *p, const struct linear *linear, size_t rows,
                         const float *x, size_t x_stride, struct quantized q) {
    struct quantize_job job = {rows, linear->in, x, x_stride, q};
    if (linear->precision == BERT_INT8)
        pass_quantize(p, &job);
}

/* Adds linear(x) onto the residual stream, from row first on. */
static void add_linear(struct pass *p, const struct linear *linear, size_t first,
                       size_t rows, const float *x, size_t x_stride, struct quantized q) {
    struct workspace *w = &p->workspace;
    float *stream = w->hidden + first * w->hidden_stride;
    quantize_for(p, linear, rows, x, x_stride, q);
    struct linear_job job =
        linear_of(linear, rows, x, x_stride, q, stream, w->hidden_stride);
    job.residual = stream;
    job.residual_stride = w->hidden_stride;
    pass_linear(p, &job, 0, linear->out);
}

static void embed(struct pass *p, const struct batch *batch) {
    const struct weights *weights = p->weights;
    struct workspace *w = &p->workspace;
    for (size_t s = 0; s < batch->sequences; s++)
        for (size_t row = batch->start[s]; row < batch->start[s + 1]; row++)
            w->positions[row] = (uint32_t)(row - batch->start[s]);
    struct embed_job job = {.rows = batch->rows,
                            .word = &weights->word,
                            .position = &weights->position,
                            .type = &weights->type,
                            .ids = batch->ids,
                            .positions = w->positions,
                            .y = w->hidden,
                            .y_stride = w->hidden_stride};
    pass_embed(p, &job);
    normalize(p, &weights->embedding_norm, batch->rows,
              &weights->layers[0].query_key_value);
}

/* Requested rows to the front, in place: they are sorted, so none is overwritten before
 * it has moved. */
static void pick_floats(float *x, size_t stride, size_t width,
                        const struct request *requests, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (requests[i].row != i)
            memcpy(x + i * stride, x + requests[i].row * stride, width * sizeof *x);
}

static void pick_quantized(struct quantized q, const struct request *requests,
                           size_t count) {
    for (size_t i = 0; i < count; i++) {
        size_t row = requests[i].row;
        if (row == i)
            continue;
        memcpy(q.data + i * q.stride, q.data + row * q.stride, q.stride);
        q.scale[i] = q.scale[row];
        q.zero[i] = q.zero[row];
    }
}

static void count_queries(const struct batch *batch, const struct request *requests,
                          size_t count, size_t *start) {
    size_t i = 0;
    for (size_t s = 0; s < batch->sequences; s++) {
        start[s] = i;
        while (i < count && requests[i].row < batch->start[s + 1])
            i++;
    }
    start[batch->sequences] = i;
}

/* Queries, keys and values of all rows, or, when requests is given, queries of the
 * requested rows, which are moved to the front. */
static void query_key_value(struct pass *p, const struct linear *linear, size_t rows,
                            const struct request *requests, size_t count) {
    struct workspace *w = &p->workspace;
    size_t hidden = (size_t)p->weights->config.hidden;
    struct linear_job job = linear_of(linear, rows, w->hidden, w->hidden_stride,
                                      w->narrow, w->qkv, w->qkv_stride);
    bool split = requests != NULL && hidden % KERNEL_LINEAR_GRAIN == 0;
    pass_linear(p, &job, split ? hidden : 0, 3 * hidden);
    if (requests == NULL)
        return;
    pick_floats(w->hidden, w->hidden_stride, hidden, requests, count);
    if (!split) {
        pick_floats(w->qkv, w->qkv_stride, hidden, requests, count);
        return;
    }
    if (linear->precision == BERT_INT8)
        pick_quantized(w->narrow, requests, count);
    job.rows = count;
    pass_linear(p, &job, 0, hidden);
}

static void attend(struct pass *p, const struct batch *batch, const size_t *query_start) {
    const struct model_config *config = &p->weights->config;
    struct workspace *w = &p->workspace;
    size_t hidden = (size_t)config->hidden;
    struct attention_job job = {.sequences = batch->sequences,
                                .heads = (size_t)config->heads,
                                .width = hidden / (size_t)config->heads,
                                .row_start = batch->start,
                                .query_start = query_start,
                                .query = w->qkv,
                                .key = w->qkv + hidden,
                                .value = w->qkv + 2 * hidden,
                                .query_stride = w->qkv_stride,
                                .key_stride = w->qkv_stride,
                                .value_stride = w->qkv_stride,
                                .context = w->context,
                                .context_stride = w->hidden_stride};
    pass_attention(p, &job);
}

static struct quantized quantized_from(struct quantized q, size_t row) {
    if (q.data != NULL)
        q = (struct quantized){q.data + row * q.stride, q.stride, q.scale + row,
                               q.zero + row};
    return q;
}

/* Some rows at a time, so that the wide activations stay in the cache from one layer to
 * the next. */
static void feed_forward(struct pass *p, const struct layer *layer, size_t rows) {
    struct workspace *w = &p->workspace;
    for (size_t first = 0; first < rows; first += w->feed_rows) {
        size_t n = rows - first < w->feed_rows ? rows - first : w->feed_rows;
        struct linear_job job = linear_of(
            &layer->up, n, w->hidden + first * w->hidden_stride, w->hidden_stride,
            quantized_from(w->narrow, first), w->up, w->up_stride);
        job.activation = p->weights->config.activation;
        pass_linear(p, &job, 0, layer->up.out);
        add_linear(p, &layer->down, first, n, w->up, w->up_stride, w->broad);
    }
}

void encoder_run(struct pass *pass, const struct batch *batch,
                 const struct request *requests, size_t count) {
    const struct weights *weights = pass->weights;
    struct workspace *w = &pass->workspace;
    size_t rows = batch->rows;
    const size_t *query_start = batch->start;
    embed(pass, batch);
    for (int i = 0; i < weights->config.layers; i++) {
        const struct layer *layer = &weights->layers[i];
        bool last = i == weights->config.layers - 1;
        query_key_value(pass, &layer->query_key_value, rows, last ? requests : NULL,
                        count);
        if (last) {
            count_queries(batch, requests, count, w->query_start);
            query_start = w->query_start;
            rows = count;
        }
        attend(pass, batch, query_start);
        add_linear(pass, &layer->attention_output, 0, rows, w->context, w->hidden_stride,
                   w->narrow);
        normalize(pass, &layer->attention_norm, rows, &layer->up);
        feed_forward(pass, layer, rows);
        normalize(pass, &layer->output_norm, rows,
                  last ? NULL : &layer[1].query_key_value);
    }
}
