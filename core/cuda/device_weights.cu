/* SPDX-License-Identifier: MIT
 *
 * device_weights.cu: one walk over the model measures its block of device memory, a
 * second one fills it. Matrices are converted on the host a slice at a time, so that the
 * host never holds a second copy of the model. */
#include "cuda/device_weights.cuh"

extern "C" {
uint16_t float_to_half(float value);
}

enum { SLICE = 1 << 20 }; /* halves converted at a time */

static enum bert_status copy(void *to, const void *from, size_t size,
                             struct bert_error *error) {
    CUDA_TRY(cudaMemcpyAsync(to, from, size, cudaMemcpyHostToDevice, 0), error);
    CUDA_TRY(cudaStreamSynchronize(0), error);
    return BERT_OK;
}

static enum bert_status floats(struct device_weights *d, const float *x, size_t n,
                               const float **result, struct bert_error *error) {
    *result = NULL;
    if (x == NULL)
        return BERT_OK;
    void *memory = place_zone(d->block, &d->size, n, sizeof *x);
    *result = (const float *)memory;
    return memory == NULL ? BERT_OK : copy(memory, x, n * sizeof *x, error);
}

/* Element i, row-major, of a matrix with `in` columns, as half. */
static uint16_t element(enum bert_precision precision, const void *data,
                        const float *scale, size_t in, size_t i) {
    if (precision == BERT_F16)
        return ((const uint16_t *)data)[i];
    if (precision == BERT_F32)
        return float_to_half(((const float *)data)[i]);
    size_t o = i / in, k = i % in, groups = (in + 3) / 4;
    const int8_t *q = (const int8_t *)data;
    return float_to_half(scale[o] *
                         q[((o / 16 * groups + k / 4) * 16 + o % 16) * 4 + k % 4]);
}

static enum bert_status matrix(struct device_weights *d, enum bert_precision precision,
                               const void *data, const float *scale, size_t rows,
                               size_t columns, half **result, struct bert_error *error) {
    size_t n = rows * columns;
    void *memory = place_zone(d->block, &d->size, n, sizeof(half));
    *result = (half *)memory;
    if (memory == NULL)
        return BERT_OK;
    uint16_t *slice = (uint16_t *)malloc(SLICE * sizeof *slice);
    if (slice == NULL)
        return error_memory(error);
    enum bert_status status = BERT_OK;
    for (size_t at = 0; at < n && status == BERT_OK; at += SLICE) {
        size_t count = n - at < SLICE ? n - at : (size_t)SLICE;
        for (size_t i = 0; i < count; i++)
            slice[i] = element(precision, data, scale, columns, at + i);
        status = copy((uint16_t *)memory + at, slice, count * sizeof *slice, error);
    }
    free(slice);
    return status;
}

static enum bert_status biases(struct device_weights *d, const float *bias,
                               struct device_linear *to, struct bert_error *error) {
    STATUS_TRY(floats(d, bias, (size_t)to->out, (const float **)&to->bias, error));
    return matrix(d, BERT_F32, bias, NULL, 1, (size_t)to->out, &to->half_bias, error);
}

static enum bert_status linear(struct device_weights *d, const struct linear *from,
                               struct device_linear *to, struct bert_error *error) {
    to->in = (int)from->in, to->out = (int)from->out;
    STATUS_TRY(matrix(d, from->precision, from->weight, from->scale, from->out, from->in,
                      &to->weight, error));
    return biases(d, from->bias, to, error);
}

static enum bert_status norm(struct device_weights *d, const struct norm *from,
                             size_t width, bool next_is_int8, struct device_norm *to,
                             struct bert_error *error) {
    STATUS_TRY(floats(d, from->gamma, width, &to->gamma, error));
    STATUS_TRY(floats(d, from->beta, width, &to->beta, error));
    return floats(d, next_is_int8 ? from->quant : NULL, width, &to->quant, error);
}

static enum bert_status table(struct device_weights *d, const struct table *from,
                              half **to, struct bert_error *error) {
    return matrix(d, from->precision, from->data, NULL, from->rows, from->width, to,
                  error);
}

static enum bert_status layers(struct device_weights *d, const struct weights *w,
                               struct bert_error *error) {
    size_t hidden = (size_t)w->config.hidden;
    for (int i = 0; i < w->config.layers; i++) {
        const struct layer *from = &w->layers[i];
        struct device_layer *to = &d->layers[i];
        bool more = i + 1 < w->config.layers;
        STATUS_TRY(linear(d, &from->query_key_value, &to->query_key_value, error));
        STATUS_TRY(linear(d, &from->attention_output, &to->attention_output, error));
        STATUS_TRY(linear(d, &from->up, &to->up, error));
        STATUS_TRY(linear(d, &from->down, &to->down, error));
        STATUS_TRY(norm(d, &from->attention_norm, hidden, from->up.precision == BERT_INT8,
                        &to->attention_norm, error));
        STATUS_TRY(norm(d, &from->output_norm, hidden,
                        more && from[1].query_key_value.precision == BERT_INT8,
                        &to->output_norm, error));
    }
    return BERT_OK;
}

static enum bert_status head(struct device_weights *d, const struct weights *w,
                             struct bert_error *error) {
    size_t hidden = (size_t)w->config.hidden;
    STATUS_TRY(linear(d, &w->transform, &d->transform, error));
    STATUS_TRY(norm(d, &w->transform_norm, hidden, false, &d->transform_norm, error));
    if (w->decoder.weight != w->word.data)
        return linear(d, &w->decoder, &d->decoder, error);
    d->decoder.weight = d->word;
    d->decoder.in = (int)w->decoder.in, d->decoder.out = (int)w->decoder.out;
    return biases(d, w->decoder.bias, &d->decoder, error);
}

/* Takes zones of d->block for everything, and fills them once there is a block. */
static enum bert_status walk(struct device_weights *d, const struct weights *w,
                             struct bert_error *error) {
    d->size = 0;
    STATUS_TRY(table(d, &w->word, &d->word, error));
    STATUS_TRY(table(d, &w->position, &d->position, error));
    STATUS_TRY(table(d, &w->type, &d->type, error));
    STATUS_TRY(norm(d, &w->embedding_norm, (size_t)w->config.hidden,
                    w->layers[0].query_key_value.precision == BERT_INT8,
                    &d->embedding_norm, error));
    STATUS_TRY(layers(d, w, error));
    return head(d, w, error);
}

static enum bert_status take_all(struct device_weights *d, const struct weights *w,
                                 struct bert_error *error) {
    STATUS_TRY(walk(d, w, error));
    CUDA_TRY(cudaMalloc(&d->block, d->size), error);
    return walk(d, w, error);
}

enum bert_status device_weights_new(struct device_weights **result,
                                    const struct weights *weights,
                                    struct bert_error *error) {
    struct device_weights *d = (struct device_weights *)calloc(1, sizeof *d);
    if (d == NULL)
        return error_memory(error);
    d->config = weights->config;
    d->layers =
        (struct device_layer *)calloc((size_t)d->config.layers, sizeof *d->layers);
    enum bert_status status =
        d->layers == NULL ? error_memory(error) : take_all(d, weights, error);
    if (status != BERT_OK)
        device_weights_free(d);
    else
        *result = d;
    return status;
}

void device_weights_free(struct device_weights *d) {
    if (d == NULL)
        return;
    cudaFree(d->block);
    free(d->layers);
    free(d);
}
