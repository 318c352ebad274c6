/* SPDX-License-Identifier: MIT
 *
 * bertfile_write.c: converts the tensors one by one and writes each where the plan wants
 * it. The int8 rewriting of a layer is exact algebra before the rounding:
 *
 *   n is a normalised row, x = γ∘n + β what the norm gives. The linear layers behind it
 *   get z = quant∘n: W·x = (W∘γ/quant)·z + W·β.
 *   A context is Σp·v = s∘z + b, with b the values' bias (Σp = 1): the value rows lose b
 *   and are divided by s; the attention output takes W∘s and the bias W·b. */
#include "model/bertfile.h"

#include "model/bertfile_format.h"
#include "model/quantize.h"

#include <math.h>

struct writer {
    struct bertfile_plan *plan;
    const struct bertfile_output *output;
    bertfile_progress *progress;
    void *progress_arg;
    uint64_t done;
    struct bert_error *error;
};

/* Writes the next part of an item. */
static enum bert_status put(struct writer *writer, struct bertfile_item *item,
                            uint64_t at, const void *bytes, size_t size) {
    item->crc = crc32c(item->crc, bytes, size);
    enum bert_status status = writer->output->write(
        writer->output->arg, item->offset + at, bytes, size, writer->error);
    writer->done += size;
    if (writer->progress)
        writer->progress(writer->progress_arg, writer->done,
                         writer->plan->total - writer->plan->header);
    return status;
}

static enum bert_status put_named(struct writer *writer, struct slot slot,
                                  const char *field, const void *bytes) {
    char name[NAME_SIZE];
    names_field(slot, field, name);
    struct bertfile_item *item = writer->plan->items;
    while (strcmp(item->name, name) != 0)
        item++;
    return put(writer, item, 0, bytes, item->size);
}

/* ---- Parts that are only converted ---- */

static bool all_finite(const float *row, size_t n) {
    bool finite = true;
    for (size_t i = 0; i < n; i++)
        finite &= isfinite(row[i]) != 0;
    return finite;
}

/* Into F16 or BF16; the latter only from BF16, so that nothing is rounded. */
static bool to_halves(const float *row, size_t n, enum element element,
                      uint16_t *halves) {
    bool finite = true;
    for (size_t i = 0; i < n; i++) {
        if (element == ELEMENT_BF16) {
            uint32_t bits;
            memcpy(&bits, &row[i], sizeof bits);
            halves[i] = (uint16_t)(bits >> 16);
            continue;
        }
        halves[i] = float_to_half(row[i]);
        finite &= (halves[i] & 0x7c00) != 0x7c00;
    }
    return finite;
}

static enum bert_status put_rows(struct writer *writer, struct bertfile_item *item,
                                 const struct tensor *tensor, float *row, uint16_t *chunk,
                                 size_t chunk_rows) {
    size_t rows = tensor_rows(tensor), columns = tensor_columns(tensor);
    bool half = item->element != ELEMENT_F32;
    size_t size = columns * element_size(item->element);
    enum bert_status status = BERT_OK;
    for (size_t begin = 0; status == BERT_OK && begin < rows; begin += chunk_rows) {
        size_t count = rows - begin < chunk_rows ? rows - begin : chunk_rows;
        bool finite = true, fits = true;
        for (size_t i = 0; i < count; i++) {
            tensor_row(tensor, begin + i, row);
            finite &= all_finite(row, columns);
            if (half)
                fits &= to_halves(row, columns, item->element, chunk + i * columns);
            else
                memcpy((char *)chunk + i * size, row, size);
        }
        if (!finite || !fits)
            return error_set(writer->error, BERT_MODEL, "%s holds a value that %s",
                             tensor->name,
                             finite ? "is too large for f16" : "is not finite");
        status = put(writer, item, begin * size, chunk, count * size);
    }
    return status;
}

static enum bert_status put_plain(struct writer *writer, struct bertfile_item *item) {
    enum { CHUNK = 1 << 20 };
    const struct tensor *tensor =
        parts_get(writer->plan->input.parts, item->slot.layer, item->slot.part);
    size_t columns = tensor_columns(tensor), chunk_rows = CHUNK / columns + 1;
    float *row = malloc(columns * sizeof *row);
    void *chunk = malloc(chunk_rows * columns * element_size(item->element));
    enum bert_status status = row && chunk
                                  ? put_rows(writer, item, tensor, row, chunk, chunk_rows)
                                  : error_memory(writer->error);
    free(row);
    free(chunk);
    return status;
}

/* ---- int8 ---- */

static void read_vector(const struct writer *writer, int layer, enum part part,
                        float *out) {
    tensor_row(parts_get(writer->plan->input.parts, layer, part), 0, out);
}

/* count weights and biases from this part on; free the bias. */
static enum bert_status stack_new(const struct writer *writer, int layer,
                                  enum part weight, int count, struct stack *stack) {
    const struct parts *parts = writer->plan->input.parts;
    struct shape shape = part_shape(&parts->config.model, weight);
    float *bias = malloc((size_t)count * shape.rows * sizeof *bias);
    *stack = (struct stack){.count = count, .in = shape.columns, .bias = bias};
    if (!bias)
        return error_memory(writer->error);
    for (int i = 0; i < count; i++) {
        enum part part = (enum part)(weight + 2 * i);
        stack->weights[i] = parts_get(parts, layer, part);
        read_vector(writer, layer, part + 1, bias + stack->out);
        stack->out += shape.rows;
    }
    return BERT_OK;
}

static void stack_free(struct stack *stack) {
    free((void *)(uintptr_t)stack->bias);
    *stack = (struct stack){0};
}

static enum bert_status panels_new(const struct stack *stack, struct panels *panels,
                                   struct bert_error *error) {
    size_t out = panel_outputs(stack->out);
    *panels = (struct panels){malloc(panel_bytes(stack->in, stack->out)),
                              malloc(out * sizeof(float)), malloc(out * sizeof(int32_t)),
                              malloc(out * sizeof(float))};
    bool ok = panels->weight && panels->scale && panels->sum && panels->bias;
    return ok ? BERT_OK : error_memory(error);
}

static void panels_free(struct panels *panels) {
    free(panels->weight);
    free(panels->scale);
    free(panels->sum);
    free(panels->bias);
}

static enum bert_status put_panels(struct writer *writer, struct slot slot,
                                   const struct panels *panels) {
    enum bert_status status = put_named(writer, slot, "weight", panels->weight);
    if (status == BERT_OK)
        status = put_named(writer, slot, "scale", panels->scale);
    if (status == BERT_OK)
        status = put_named(writer, slot, "sum", panels->sum);
    if (status == BERT_OK)
        status = put_named(writer, slot, "bias", panels->bias);
    return status;
}

/* Vectors of one layer's conversion, hidden floats each. */
struct vectors {
    float *gamma, *beta, *quant, *column, *squares, *value_bias, *spread;
};

/* quant = √(|γ|·w), w the root mean square of the columns behind: the roughness of the
 * inputs and of the weights meet half-way. */
static void choose_quant(struct vectors *v, size_t hidden) {
    for (size_t j = 0; j < hidden; j++) {
        v->quant[j] = sqrtf(fabsf(v->gamma[j]) * sqrtf(v->squares[j]));
        v->column[j] = v->quant[j] > 0 ? v->gamma[j] / v->quant[j] : 0;
    }
}

/* The norm, and the stack that gets its output. */
static enum bert_status rewrite_norm(struct writer *writer, int layer, enum part norm,
                                     const struct stack *stack, struct vectors *v) {
    read_vector(writer, layer, norm, v->gamma);
    read_vector(writer, layer, norm + 1, v->beta);
    enum bert_status status = quantize_columns(stack, v->squares, writer->error);
    if (status != BERT_OK)
        return status;
    choose_quant(v, stack->in);
    return put_named(writer, (struct slot){layer, norm}, "quant", v->quant);
}

static enum bert_status put_linear(struct writer *writer, struct slot slot,
                                   const struct stack *stack,
                                   const struct rewrite *rewrite) {
    struct panels panels;
    enum bert_status status = panels_new(stack, &panels, writer->error);
    if (status == BERT_OK)
        status = quantize_linear(stack, rewrite, writer->plan->input.pool, &panels,
                                 writer->error);
    if (status == BERT_OK)
        status = put_panels(writer, slot, &panels);
    panels_free(&panels);
    return status;
}

/* Leaves in v->squares the values' expected squares, and in v->value_bias their bias. A
 * value row divided by s has its scale divided by s; that is done when s is known. */
static enum bert_status quantize_attention(struct writer *writer, int layer,
                                           const struct stack *stack, struct vectors *v,
                                           struct panels *panels) {
    size_t hidden = stack->in;
    bool first = layer == 0;
    enum bert_status status = rewrite_norm(
        writer, first ? -1 : layer - 1,
        first ? PART_EMBEDDING_NORM_WEIGHT : PART_OUTPUT_NORM_WEIGHT, stack, v);
    struct rewrite rewrite = {v->column, v->beta, v->quant};
    if (status == BERT_OK)
        status = quantize_linear(stack, &rewrite, writer->plan->input.pool, panels,
                                 writer->error);
    if (status == BERT_OK)
        status = quantize_rows(stack, 2 * hidden, v->gamma, v->squares, writer->error);
    if (status != BERT_OK)
        return status;
    memcpy(v->value_bias, panels->bias + 2 * hidden, hidden * sizeof *v->value_bias);
    memset(panels->bias + 2 * hidden, 0, hidden * sizeof *panels->bias);
    return BERT_OK;
}

/* s = √(value size / column size) for each channel of the context, or 1. */
static enum bert_status balance_context(struct writer *writer, const struct stack *output,
                                        struct vectors *v, struct panels *panels) {
    size_t hidden = output->in;
    float *columns = v->quant; /* no longer needed */
    enum bert_status status = quantize_columns(output, columns, writer->error);
    for (size_t j = 0; status == BERT_OK && j < hidden; j++) {
        float ratio = sqrtf(v->squares[j]) / sqrtf(columns[j]);
        float s = isfinite(ratio) && ratio > 0 ? sqrtf(ratio) : 1;
        v->column[j] = s;
        v->spread[j] = sqrtf(v->squares[j]) / s;
        panels->scale[2 * hidden + j] /= s;
    }
    return status;
}

static enum bert_status put_attention(struct writer *writer, int layer,
                                      struct vectors *v) {
    struct stack input, output = {0};
    struct panels panels = {0};
    enum bert_status status = stack_new(writer, layer, PART_QUERY_WEIGHT, 3, &input);
    if (status == BERT_OK)
        status = panels_new(&input, &panels, writer->error);
    if (status == BERT_OK)
        status = quantize_attention(writer, layer, &input, v, &panels);
    stack_free(&input);
    if (status == BERT_OK)
        status = stack_new(writer, layer, PART_ATTENTION_OUTPUT_WEIGHT, 1, &output);
    if (status == BERT_OK)
        status = balance_context(writer, &output, v, &panels);
    if (status == BERT_OK)
        status = put_panels(writer, (struct slot){layer, PART_QUERY_WEIGHT}, &panels);
    panels_free(&panels);
    struct rewrite rewrite = {v->column, v->value_bias, v->spread};
    if (status == BERT_OK)
        status = put_linear(writer, (struct slot){layer, PART_ATTENTION_OUTPUT_WEIGHT},
                            &output, &rewrite);
    stack_free(&output);
    return status;
}

static enum bert_status put_feed_forward(struct writer *writer, int layer,
                                         struct vectors *v) {
    struct stack up, down = {0};
    struct rewrite rewrite = {v->column, v->beta, v->quant}, none = {0};
    enum bert_status status = stack_new(writer, layer, PART_UP_WEIGHT, 1, &up);
    if (status == BERT_OK)
        status = rewrite_norm(writer, layer, PART_ATTENTION_NORM_WEIGHT, &up, v);
    if (status == BERT_OK)
        status = put_linear(writer, (struct slot){layer, PART_UP_WEIGHT}, &up, &rewrite);
    stack_free(&up);
    if (status == BERT_OK)
        status = stack_new(writer, layer, PART_DOWN_WEIGHT, 1, &down);
    if (status == BERT_OK)
        status = put_linear(writer, (struct slot){layer, PART_DOWN_WEIGHT}, &down, &none);
    stack_free(&down);
    return status;
}

static enum bert_status put_layers(struct writer *writer) {
    const struct model_config *model = &writer->plan->input.parts->config.model;
    size_t hidden = (size_t)model->hidden;
    float *memory = calloc(7 * hidden, sizeof *memory);
    if (!memory)
        return error_memory(writer->error);
    struct vectors v = {memory,
                        memory + hidden,
                        memory + 2 * hidden,
                        memory + 3 * hidden,
                        memory + 4 * hidden,
                        memory + 5 * hidden,
                        memory + 6 * hidden};
    enum bert_status status = BERT_OK;
    for (int i = 0; status == BERT_OK && i < model->layers; i++) {
        status = put_attention(writer, i, &v);
        if (status == BERT_OK)
            status = put_feed_forward(writer, i, &v);
    }
    /* Behind the last norm is the head, which is not quantised. */
    if (status == BERT_OK) {
        int last = model->layers - 1;
        read_vector(writer, last, PART_OUTPUT_NORM_WEIGHT, v.quant);
        for (size_t j = 0; j < hidden; j++)
            v.quant[j] = fabsf(v.quant[j]);
        status = put_named(writer, (struct slot){last, PART_OUTPUT_NORM_WEIGHT}, "quant",
                           v.quant);
    }
    free(memory);
    return status;
}

enum bert_status bertfile_write_tensors(struct bertfile_plan *plan,
                                        const struct bertfile_output *output,
                                        bertfile_progress *progress, void *progress_arg,
                                        struct bert_error *error) {
    static const char zeros[BERTFILE_ALIGNMENT];
    struct writer writer = {plan, output, progress, progress_arg, 0, error};
    enum bert_status status = BERT_OK;
    for (size_t i = 0; status == BERT_OK && i < plan->count; i++) {
        struct bertfile_item *item = &plan->items[i];
        if (item->plain)
            status = put_plain(&writer, item);
        else if (strcmp(item->name, BERTFILE_VOCABULARY) == 0)
            status = put(&writer, item, 0, plan->input.vocabulary.data, item->size);
        else if (strncmp(item->name, "pad.", 4) == 0)
            status = put(&writer, item, 0, zeros, item->size);
    }
    if (status == BERT_OK && plan->input.precision == BERT_INT8)
        status = put_layers(&writer);
    return status;
}
