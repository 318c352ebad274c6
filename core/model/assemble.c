/* SPDX-License-Identifier: MIT
 *
 * assemble.c: a mapped f32 file costs no memory but its fused query-key-value matrices.
 */
#include "model/assemble.h"

enum { ALIGNMENT = 64 };

struct kept {
    struct kept *next;
};

void *keeper_alloc(struct keeper *keeper, size_t size) {
    size_t total;
    void *memory = NULL;
    if (!size_add(size, ALIGNMENT, &total) ||
        posix_memalign(&memory, ALIGNMENT, total) != 0)
        return NULL;
    struct kept *kept = memory;
    kept->next = keeper->first;
    keeper->first = kept;
    return (char *)memory + ALIGNMENT;
}

void keeper_release(struct keeper *keeper) {
    while (keeper->first) {
        struct kept *next = keeper->first->next;
        free(keeper->first);
        keeper->first = next;
    }
}

struct assembly {
    struct weights *weights;
    struct keeper *keeper;
    const struct parts *parts;
    enum bert_precision precision;
    struct bert_error *error;
    enum bert_status status; /* sticky */
};

static enum element element_of(enum bert_precision precision) {
    return precision == BERT_F32 ? ELEMENT_F32 : ELEMENT_F16;
}

/* The bytes of count tensors as one array, when they lie so in the file. */
static const void *in_place(const struct tensor *const *tensors, int count,
                            enum element element) {
    const unsigned char *next = tensors[0]->data;
    if ((uintptr_t)next % element_size(element) != 0)
        return NULL;
    for (int i = 0; i < count; i++) {
        size_t extent;
        if (tensors[i]->data != next || tensors[i]->element != element ||
            !tensor_is_packed(tensors[i]) || !tensor_extent(tensors[i], &extent))
            return NULL;
        next += extent;
    }
    return tensors[0]->data;
}

static void copy_tensor(const struct tensor *tensor, enum element element, void *out,
                        float *row) {
    size_t rows = tensor_rows(tensor), columns = tensor_columns(tensor);
    for (size_t i = 0; i < rows; i++) {
        if (element == ELEMENT_F32) {
            tensor_row(tensor, i, (float *)out + i * columns);
            continue;
        }
        uint16_t *halves = (uint16_t *)out + i * columns;
        tensor_row(tensor, i, row);
        for (size_t j = 0; j < columns; j++)
            halves[j] = float_to_half(row[j]);
    }
}

/* One array of the rows of count tensors; NULL when status tells why. */
static const void *join(struct assembly *assembly, const struct tensor *const *tensors,
                        int count, enum element element) {
    if (assembly->status != BERT_OK)
        return NULL;
    const void *place = in_place(tensors, count, element);
    if (place)
        return place;
    size_t columns = tensor_columns(tensors[0]), rows = 0, size;
    for (int i = 0; i < count; i++)
        rows += tensor_rows(tensors[i]);
    float *row = malloc(columns * sizeof *row);
    unsigned char *out = NULL;
    if (size_mul(rows, columns, &size) && size_mul(size, element_size(element), &size))
        out = keeper_alloc(assembly->keeper, size);
    if (!out || !row)
        assembly->status = error_memory(assembly->error);
    unsigned char *at = out;
    for (int i = 0; assembly->status == BERT_OK && i < count; i++) {
        copy_tensor(tensors[i], element, at, row);
        at += tensor_rows(tensors[i]) * columns * element_size(element);
    }
    free(row);
    return out;
}

static const float *vector(struct assembly *assembly, int layer, enum part part) {
    const struct tensor *tensor = parts_get(assembly->parts, layer, part);
    return join(assembly, &tensor, 1, ELEMENT_F32);
}

static struct table table(struct assembly *assembly, enum part part) {
    const struct tensor *tensor = parts_get(assembly->parts, -1, part);
    return (struct table){assembly->precision, tensor_rows(tensor),
                          tensor_columns(tensor),
                          join(assembly, &tensor, 1, element_of(assembly->precision))};
}

/* The bias follows its weight in enum part. */
static struct linear linear(struct assembly *assembly, int layer, enum part weight) {
    const struct tensor *tensor = parts_get(assembly->parts, layer, weight);
    return (struct linear){
        .precision = assembly->precision,
        .in = tensor_columns(tensor),
        .out = tensor_rows(tensor),
        .weight = join(assembly, &tensor, 1, element_of(assembly->precision)),
        .bias = vector(assembly, layer, weight + 1),
    };
}

static struct norm norm(struct assembly *assembly, int layer, enum part weight) {
    return (struct norm){.gamma = vector(assembly, layer, weight),
                         .beta = vector(assembly, layer, weight + 1)};
}

static struct linear query_key_value(struct assembly *assembly, int layer) {
    const struct parts *parts = assembly->parts;
    const struct tensor *weights[] = {parts_get(parts, layer, PART_QUERY_WEIGHT),
                                      parts_get(parts, layer, PART_KEY_WEIGHT),
                                      parts_get(parts, layer, PART_VALUE_WEIGHT)};
    const struct tensor *biases[] = {parts_get(parts, layer, PART_QUERY_BIAS),
                                     parts_get(parts, layer, PART_KEY_BIAS),
                                     parts_get(parts, layer, PART_VALUE_BIAS)};
    return (struct linear){
        .precision = assembly->precision,
        .in = tensor_columns(weights[0]),
        .out = 3 * tensor_rows(weights[0]),
        .weight = join(assembly, weights, 3, element_of(assembly->precision)),
        .bias = join(assembly, biases, 3, ELEMENT_F32),
    };
}

static void assemble_layer(struct assembly *assembly, int i) {
    struct layer *layer = &assembly->weights->layers[i];
    layer->query_key_value = query_key_value(assembly, i);
    layer->attention_output = linear(assembly, i, PART_ATTENTION_OUTPUT_WEIGHT);
    layer->attention_norm = norm(assembly, i, PART_ATTENTION_NORM_WEIGHT);
    layer->up = linear(assembly, i, PART_UP_WEIGHT);
    layer->down = linear(assembly, i, PART_DOWN_WEIGHT);
    layer->output_norm = norm(assembly, i, PART_OUTPUT_NORM_WEIGHT);
}

enum bert_status assemble(struct weights *weights, struct keeper *keeper,
                          const struct parts *parts, enum bert_precision precision,
                          struct bert_error *error) {
    struct assembly assembly = {weights, keeper, parts, precision, error, BERT_OK};
    const struct model_config *model = &parts->config.model;
    *weights = (struct weights){.config = *model, .precision = precision};
    weights->layers =
        keeper_alloc(keeper, (size_t)model->layers * sizeof *weights->layers);
    if (!weights->layers)
        return error_memory(error);
    weights->word = table(&assembly, PART_WORD);
    weights->position = table(&assembly, PART_POSITION);
    weights->type = table(&assembly, PART_TYPE);
    weights->embedding_norm = norm(&assembly, -1, PART_EMBEDDING_NORM_WEIGHT);
    for (int i = 0; assembly.status == BERT_OK && i < model->layers; i++)
        assemble_layer(&assembly, i);
    weights->transform = linear(&assembly, -1, PART_TRANSFORM_WEIGHT);
    weights->transform_norm = norm(&assembly, -1, PART_TRANSFORM_NORM_WEIGHT);
    if (parts->config.tied)
        weights->decoder =
            (struct linear){.precision = precision,
                            .in = weights->word.width,
                            .out = weights->word.rows,
                            .weight = weights->word.data,
                            .bias = vector(&assembly, -1, PART_DECODER_BIAS)};
    else
        weights->decoder = linear(&assembly, -1, PART_DECODER_WEIGHT);
    return assembly.status;
}
