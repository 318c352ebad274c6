/* SPDX-License-Identifier: MIT
 *
 * pass.cu: the forward pass as launches on one stream. */
#include "cuda/pass.cuh"

#include "cuda/gemm.cuh"
#include "cuda/plan.cuh"

size_t pass_zones(struct zones *zones, char *base, const struct model_config *c,
                  int rows) {
    size_t hidden = (size_t)rows * (size_t)c->hidden, at = 0;
    size_t up = (size_t)rows * (size_t)c->intermediate;
    size_t logits = PASS_LOGITS * (size_t)c->vocabulary;
    zones->hidden = (float *)place_zone(base, &at, hidden, sizeof(float));
    zones->picked_hidden = (float *)place_zone(base, &at, hidden, sizeof(float));
    zones->wide =
        (float *)place_zone(base, &at, logits > up ? logits : up, sizeof(float));
    zones->input = (half *)place_zone(base, &at, hidden, sizeof(half));
    zones->picked_input = (half *)place_zone(base, &at, hidden, sizeof(half));
    zones->qkv = (half *)place_zone(base, &at, hidden * 3, sizeof(half));
    zones->context = (half *)place_zone(base, &at, hidden, sizeof(half));
    zones->up = (half *)place_zone(base, &at, up, sizeof(half));
    return at;
}

/* A row is products of `rows` rows; outputs begin.. of the layer (a multiple of 8). */
static enum bert_status product(struct pass *p, const struct device_linear *linear,
                                const half *x, void *y, int y_stride, int rows,
                                enum gemm_output output, int begin, int end) {
    struct gemm_job job = {.weight = linear->weight + (size_t)begin * linear->in,
                           .bias = output == GEMM_HALF
                                       ? (const void *)(linear->half_bias + begin)
                                       : linear->bias + begin,
                           .x = x,
                           .y = y,
                           .y_stride = y_stride,
                           .rows = rows,
                           .in = linear->in,
                           .out = end - begin,
                           .output = output};
    return gemm_run(p->gemm, &job, p->stream, p->error);
}

static void normalize(struct pass *p, const struct device_norm *norm, bool requests,
                      enum activation activation, float *hidden, half *input) {
    const struct model_config *c = &p->weights->config;
    struct norm_args args = {.sizes = p->plan->device.sizes,
                             .requests = requests,
                             .width = c->hidden,
                             .epsilon = c->epsilon,
                             .activation = activation,
                             .norm = *norm,
                             .hidden = hidden,
                             .input = input};
    launch_norm(&args, requests ? p->bucket.requests : p->bucket.rows, p->stream);
}

static void embed(struct pass *p) {
    const struct device_weights *w = p->weights;
    struct embed_args args = {.sizes = p->plan->device.sizes,
                              .word = w->word,
                              .position = w->position,
                              .type = w->type,
                              .ids = p->plan->device.ids,
                              .positions = p->plan->device.positions,
                              .width = w->config.hidden,
                              .epsilon = w->config.epsilon,
                              .norm = w->embedding_norm,
                              .hidden = p->zones->hidden,
                              .input = p->zones->input};
    launch_embed(&args, p->bucket.rows, p->stream);
}

static void pick(struct pass *p) {
    struct pick_args args = {.sizes = p->plan->device.sizes,
                             .request_row = p->plan->device.request_row,
                             .width = p->weights->config.hidden,
                             .hidden = p->zones->hidden,
                             .input = p->zones->input,
                             .picked_hidden = p->zones->picked_hidden,
                             .picked_input = p->zones->picked_input};
    launch_pick(&args, p->bucket.requests, p->stream);
}

/* query: (queries, hidden) apart by query_stride. */
static void attend(struct pass *p, const int32_t *query_start, const half *query,
                   int query_stride, int queries) {
    const struct zones *z = p->zones;
    const struct model_config *c = &p->weights->config;
    struct attention_args args = {.sizes = p->plan->device.sizes,
                                  .start = p->plan->device.start,
                                  .query_start = query_start,
                                  .heads = c->heads,
                                  .width = c->hidden / c->heads,
                                  .query = query,
                                  .key = z->qkv + c->hidden,
                                  .value = z->qkv + 2 * c->hidden,
                                  .query_stride = query_stride,
                                  .key_stride = 3 * c->hidden,
                                  .context = z->context,
                                  .context_stride = c->hidden};
    launch_attention(&args, p->bucket.sequences, p->bucket.longest, queries,
                     p->shared_limit, p->stream);
}

/* From the context on: all that is done row by row, for all rows or the picked ones. */
static enum bert_status finish_layer(struct pass *p, const struct device_layer *layer,
                                     bool picked) {
    const struct zones *z = p->zones;
    const struct model_config *c = &p->weights->config;
    float *hidden = picked ? z->picked_hidden : z->hidden;
    half *input = picked ? z->picked_input : z->input;
    int rows = picked ? p->bucket.requests : p->bucket.rows;
    STATUS_TRY(product(p, &layer->attention_output, z->context, hidden, c->hidden,
                       rows, GEMM_ADD, 0, c->hidden));
    normalize(p, &layer->attention_norm, picked, ACTIVATION_NONE, hidden, input);
    STATUS_TRY(product(p, &layer->up, input, z->wide, c->intermediate, rows,
                       GEMM_FLOAT, 0, c->intermediate));
    launch_gelu(z->wide, z->up, (size_t)rows * (size_t)c->intermediate,
                c->activation, p->stream);
    STATUS_TRY(product(p, &layer->down, z->up, hidden, c->hidden, rows, GEMM_ADD, 0,
                       c->hidden));
    normalize(p, &layer->output_norm, picked, ACTIVATION_NONE, hidden, input);
    return BERT_OK;
}

static enum bert_status run_layer(struct pass *p, const struct device_layer *layer) {
    const struct zones *z = p->zones;
    int hidden = p->weights->config.hidden;
    STATUS_TRY(product(p, &layer->query_key_value, z->input, z->qkv, 3 * hidden,
                       p->bucket.rows, GEMM_HALF, 0, 3 * hidden));
    attend(p, p->plan->device.start, z->qkv, 3 * hidden, p->bucket.longest);
    return finish_layer(p, layer, false);
}

/* Keys and values of all rows; the rest for the requested rows alone. Their queries lie
 * where the up product will. */
static enum bert_status run_last_layer(struct pass *p, const struct device_layer *layer) {
    const struct zones *z = p->zones;
    int hidden = p->weights->config.hidden;
    STATUS_TRY(product(p, &layer->query_key_value, z->input, z->qkv + hidden,
                       3 * hidden, p->bucket.rows, GEMM_HALF, hidden, 3 * hidden));
    pick(p);
    STATUS_TRY(product(p, &layer->query_key_value, z->picked_input, z->up, hidden,
                       p->bucket.requests, GEMM_HALF, 0, hidden));
    attend(p, p->plan->device.query_start, z->up, hidden, p->bucket.queries);
    return finish_layer(p, layer, true);
}

static void answer(struct pass *p, int first, int count) {
    const struct plan_arrays *asked = &p->plan->device;
    const struct answer_arrays *to = &p->plan->device_answers;
    struct answer_args args = {.sizes = asked->sizes,
                               .first = first,
                               .vocabulary = p->weights->config.vocabulary,
                               .logits = p->zones->wide,
                               .k = asked->k,
                               .map_of = asked->map_of,
                               .maps = asked->maps,
                               .map_words = p->plan->limits.map_words,
                               .listed_start = asked->listed_start,
                               .listed = asked->listed,
                               .best_stride = p->bucket.best_stride,
                               .best_id = to->best_id,
                               .best_count = to->best_count,
                               .finite = to->finite,
                               .best_log = to->best_log,
                               .listed_log = to->listed_log};
    launch_answer(&args, count, p->stream);
}

static enum bert_status run_head(struct pass *p) {
    const struct zones *z = p->zones;
    const struct device_weights *w = p->weights;
    int hidden = w->config.hidden;
    STATUS_TRY(product(p, &w->transform, z->picked_input, z->picked_hidden, hidden,
                       p->bucket.requests, GEMM_FLOAT, 0, hidden));
    normalize(p, &w->transform_norm, true, w->config.activation, z->picked_hidden,
              z->picked_input);
    for (int first = 0; first < p->bucket.requests; first += PASS_LOGITS) {
        int left = p->bucket.requests - first;
        int count = left < PASS_LOGITS ? left : (int)PASS_LOGITS;
        STATUS_TRY(product(p, &w->decoder, z->picked_input + (size_t)first * hidden,
                           z->wide, w->config.vocabulary, count, GEMM_FLOAT, 0,
                           w->config.vocabulary));
        answer(p, first, count);
    }
    return BERT_OK;
}

enum bert_status pass_run(struct pass *p, bool whole) {
    const struct device_weights *w = p->weights;
    STATUS_TRY(plan_send(p->plan, whole, p->stream, p->error));
    embed(p);
    for (int i = 0; i + 1 < w->config.layers; i++)
        STATUS_TRY(run_layer(p, &w->layers[i]));
    STATUS_TRY(run_last_layer(p, &w->layers[w->config.layers - 1]));
    STATUS_TRY(run_head(p));
    STATUS_TRY(plan_fetch(p->plan, whole, p->stream, p->error));
    CUDA_TRY(cudaGetLastError(), p->error);
    return BERT_OK;
}
