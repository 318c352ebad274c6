/* SPDX-License-Identifier: MIT
 *
 * bertfile_plan.c: which tensors a model.bert has, and where; and its header. The plan
 * fixes every offset before the first byte is written, so that conversion needs no copy
 * of the model. */
#include "model/bertfile.h"

#include "io/json.h"
#include "model/bertfile_format.h"
#include "model/quantize.h"

static struct bertfile_item *add_item(struct bertfile_plan *plan, const char *name,
                                      enum element element) {
    if (plan->count == plan->capacity) {
        size_t capacity = plan->capacity * 2 + 64;
        struct bertfile_item *items = realloc(plan->items, capacity * sizeof *items);
        if (!items)
            return NULL;
        plan->items = items;
        plan->capacity = capacity;
    }
    struct bertfile_item *item = &plan->items[plan->count++];
    *item = (struct bertfile_item){.element = element, .offset = plan->total};
    snprintf(item->name, sizeof item->name, "%s", name);
    return item;
}

static void end_item(struct bertfile_plan *plan, struct bertfile_item *item) {
    item->size = element_size(item->element);
    for (int i = 0; i < item->rank; i++)
        item->size *= item->shape[i];
    plan->total += item->size;
}

/* The format allows no holes: a gap is a tensor. */
static bool align(struct bertfile_plan *plan) {
    size_t gap =
        (BERTFILE_ALIGNMENT - plan->total % BERTFILE_ALIGNMENT) % BERTFILE_ALIGNMENT;
    if (gap == 0 || plan->input.hugging_face)
        return true;
    char name[NAME_SIZE];
    snprintf(name, sizeof name, "pad.%zu", plan->count);
    struct bertfile_item *item = add_item(plan, name, ELEMENT_U8);
    if (!item)
        return false;
    item->rank = 1;
    item->shape[0] = gap;
    end_item(plan, item);
    return true;
}

/* Keys and values follow their queries without a gap, so that the three are one matrix.
 */
static bool continues(enum part part) {
    return part == PART_KEY_WEIGHT || part == PART_VALUE_WEIGHT ||
           part == PART_KEY_BIAS || part == PART_VALUE_BIAS;
}

static enum element part_element(const struct bertfile_plan *plan, int layer,
                                 enum part part, bool matrix) {
    enum element source = parts_get(plan->input.parts, layer, part)->element;
    if (plan->input.precision == BERT_PRECISION_DEFAULT)
        return source == ELEMENT_F16 || source == ELEMENT_BF16 ? source : ELEMENT_F32;
    if (plan->input.hugging_face)
        return plan->input.precision == BERT_F32 ? ELEMENT_F32 : ELEMENT_F16;
    return matrix && plan->input.precision != BERT_F32 ? ELEMENT_F16 : ELEMENT_F32;
}

static bool add_part(struct bertfile_plan *plan, int layer, enum part part) {
    struct shape shape = part_shape(&plan->input.parts->config.model, part);
    struct slot slot = {layer, part};
    char name[NAME_SIZE];
    names_format(slot, name);
    if (!continues(part) && !align(plan))
        return false;
    struct bertfile_item *item =
        add_item(plan, name, part_element(plan, layer, part, shape.rows > 0));
    if (!item)
        return false;
    item->plain = true;
    item->slot = slot;
    if (shape.rows)
        item->shape[item->rank++] = shape.rows;
    item->shape[item->rank++] = shape.columns;
    end_item(plan, item);
    return true;
}

static bool add_field(struct bertfile_plan *plan, struct slot slot, const char *field,
                      enum element element, size_t count) {
    char name[NAME_SIZE];
    names_field(slot, field, name);
    struct bertfile_item *item = align(plan) ? add_item(plan, name, element) : NULL;
    if (!item)
        return false;
    item->rank = 1;
    item->shape[0] = count;
    end_item(plan, item);
    return true;
}

static bool add_panels(struct bertfile_plan *plan, int layer, enum part weight) {
    struct slot slot = {layer, weight};
    struct shape shape = part_shape(&plan->input.parts->config.model, weight);
    size_t out = panel_outputs(weight == PART_QUERY_WEIGHT ? 3 * shape.rows : shape.rows);
    char name[NAME_SIZE];
    names_field(slot, "weight", name);
    struct bertfile_item *item = align(plan) ? add_item(plan, name, ELEMENT_I8) : NULL;
    if (!item)
        return false;
    item->rank = 4;
    item->shape[0] = out / PANEL;
    item->shape[1] = (shape.columns + GROUP - 1) / GROUP;
    item->shape[2] = PANEL;
    item->shape[3] = GROUP;
    end_item(plan, item);
    return add_field(plan, slot, "scale", ELEMENT_F32, out) &&
           add_field(plan, slot, "sum", ELEMENT_I32, out) &&
           add_field(plan, slot, "bias", ELEMENT_F32, out);
}

static bool add_norm(struct bertfile_plan *plan, int layer, enum part weight) {
    struct slot slot = {layer, weight};
    size_t hidden = (size_t)plan->input.parts->config.model.hidden;
    return add_part(plan, layer, weight) && add_part(plan, layer, weight + 1) &&
           (plan->input.precision != BERT_INT8 ||
            add_field(plan, slot, "quant", ELEMENT_F32, hidden));
}

static bool add_linear(struct bertfile_plan *plan, int layer, enum part weight) {
    if (plan->input.precision == BERT_INT8)
        return add_panels(plan, layer, weight);
    return add_part(plan, layer, weight) && add_part(plan, layer, weight + 1);
}

static bool add_attention(struct bertfile_plan *plan, int layer) {
    static const enum part order[] = {PART_QUERY_WEIGHT, PART_KEY_WEIGHT,
                                      PART_VALUE_WEIGHT, PART_QUERY_BIAS,
                                      PART_KEY_BIAS,     PART_VALUE_BIAS};
    if (plan->input.precision == BERT_INT8)
        return add_panels(plan, layer, PART_QUERY_WEIGHT);
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (!add_part(plan, layer, order[i]))
            return false;
    return true;
}

static bool add_layer(struct bertfile_plan *plan, int layer) {
    return add_attention(plan, layer) &&
           add_linear(plan, layer, PART_ATTENTION_OUTPUT_WEIGHT) &&
           add_norm(plan, layer, PART_ATTENTION_NORM_WEIGHT) &&
           add_linear(plan, layer, PART_UP_WEIGHT) &&
           add_linear(plan, layer, PART_DOWN_WEIGHT) &&
           add_norm(plan, layer, PART_OUTPUT_NORM_WEIGHT);
}

static bool add_vocabulary(struct bertfile_plan *plan) {
    struct bertfile_item *item = add_item(plan, BERTFILE_VOCABULARY, ELEMENT_U8);
    if (!item)
        return false;
    item->rank = 1;
    item->shape[0] = plan->input.vocabulary.size;
    end_item(plan, item);
    return true;
}

static bool add_all(struct bertfile_plan *plan) {
    const struct config *config = &plan->input.parts->config;
    bool ok = (plan->input.hugging_face || add_vocabulary(plan)) &&
              add_part(plan, -1, PART_WORD) && add_part(plan, -1, PART_POSITION) &&
              add_part(plan, -1, PART_TYPE) &&
              add_norm(plan, -1, PART_EMBEDDING_NORM_WEIGHT);
    for (int i = 0; ok && i < config->model.layers; i++)
        ok = add_layer(plan, i);
    return ok && add_part(plan, -1, PART_TRANSFORM_WEIGHT) &&
           add_part(plan, -1, PART_TRANSFORM_BIAS) &&
           add_part(plan, -1, PART_TRANSFORM_NORM_WEIGHT) &&
           add_part(plan, -1, PART_TRANSFORM_NORM_BIAS) &&
           (config->tied || add_part(plan, -1, PART_DECODER_WEIGHT)) &&
           add_part(plan, -1, PART_HEAD_BIAS) &&
           /* transformers ties the two biases only where it ties the weights */
           (config->tied || !plan->input.hugging_face ||
            add_part(plan, -1, PART_DECODER_BIAS));
}

/* ---- The header ---- */

static void put_pair(struct buffer *out, const char *name, struct span value) {
    buffer_add_text(out, ", ");
    json_put_text(out, name, strlen(name));
    buffer_add_text(out, ": ");
    json_put_text(out, value.data, value.size);
}

static void put_metadata(const struct bertfile_plan *plan, const char *source_sha256,
                         struct buffer *out) {
    const struct bertfile_input *input = &plan->input;
    struct buffer config = {0}, tokenizer = {0}, crcs = {0};
    config_write(&input->parts->config, &config);
    tokenizer_settings_write(input->tokenizer, &tokenizer);
    for (size_t i = 0; i < plan->count; i++) {
        uint32_t crc = plan->items[i].crc;
        for (int shift = 0; shift < 32; shift += 8)
            buffer_add_byte(&crcs, (char)(crc >> shift));
    }
    char digits[32];
    snprintf(digits, sizeof digits, "%08x", crc32c(0, crcs.data, crcs.size));
    /* Lest json_put_text see no bytes at all. */
    out->failed |= config.failed || tokenizer.failed || crcs.failed;
    buffer_add_text(out, BERTFILE_PREFIX "00000000\"");
    put_pair(out, "weights_checksum", span_of(digits));
    snprintf(digits, sizeof digits, "%d", BERTFILE_VERSION);
    put_pair(out, "version", span_of(digits));
    put_pair(out, "precision", span_of(precision_name(input->precision)));
    put_pair(out, "config", (struct span){config.data, config.size});
    put_pair(out, "tokenizer", (struct span){tokenizer.data, tokenizer.size});
    if (input->source)
        put_pair(out, "source", span_of(input->source));
    put_pair(out, "source_sha256", span_of(source_sha256));
    if (input->license)
        put_pair(out, "license", span_of(input->license));
    put_pair(out, "format", span_of("pt"));
    buffer_add_byte(out, '}');
    buffer_release(&config);
    buffer_release(&tokenizer);
    buffer_release(&crcs);
}

static void put_item(const struct bertfile_item *item, uint64_t data,
                     struct buffer *out) {
    buffer_printf(out, ", \"%s\": {\"dtype\": \"%s\", \"shape\": [", item->name,
                  element_name(item->element));
    for (int i = 0; i < item->rank; i++)
        buffer_printf(out, "%s%llu", i ? ", " : "", (unsigned long long)item->shape[i]);
    buffer_printf(out, "], \"data_offsets\": [%llu, %llu]}",
                  (unsigned long long)(item->offset - data),
                  (unsigned long long)(item->offset + item->size - data));
}

/* Eight bytes of size, the JSON, blanks up to the alignment. data: where the first item
 * begins, as far as item->offset counts. */
static bool format_header(const struct bertfile_plan *plan, const char *source_sha256,
                          uint64_t data, struct buffer *out) {
    static const char zeros[] =
        "0000000000000000000000000000000000000000000000000000000000000000";
    buffer_add(out, "\0\0\0\0\0\0\0", 8);
    if (plan->input.hugging_face)
        buffer_add_text(out, "{\"__metadata__\": {\"format\": \"pt\"}");
    else
        put_metadata(plan, source_sha256 ? source_sha256 : zeros, out);
    for (size_t i = 0; i < plan->count; i++)
        put_item(&plan->items[i], data, out);
    buffer_add_byte(out, '}');
    while (!out->failed && out->size % BERTFILE_ALIGNMENT)
        buffer_add_byte(out, ' ');
    if (out->failed)
        return false;
    for (int i = 0; i < 8; i++)
        out->data[i] = (char)((uint64_t)(out->size - 8) >> (8 * i));
    return true;
}

enum bert_status bertfile_plan(struct bertfile_plan *plan,
                               const struct bertfile_input *input,
                               struct bert_error *error) {
    *plan = (struct bertfile_plan){.input = *input};
    struct buffer header = {0};
    bool ok = add_all(plan) && format_header(plan, NULL, 0, &header);
    plan->header = header.size;
    plan->total += header.size;
    for (size_t i = 0; i < plan->count; i++)
        plan->items[i].offset += header.size;
    buffer_release(&header);
    if (ok)
        return BERT_OK;
    bertfile_plan_release(plan);
    return error_memory(error);
}

void bertfile_plan_release(struct bertfile_plan *plan) {
    free(plan->items);
    *plan = (struct bertfile_plan){0};
}

static void put_checksum(const struct bertfile_plan *plan, struct buffer *header) {
    const struct span *vocabulary = &plan->input.vocabulary;
    uint32_t crc = crc32c(0, header->data, header->size);
    char digits[9];
    snprintf(digits, sizeof digits, "%08x",
             crc32c(crc, vocabulary->data, vocabulary->size));
    memcpy(header->data + BERTFILE_DIGITS, digits, 8);
}

enum bert_status bertfile_write_header(struct bertfile_plan *plan,
                                       const char *source_sha256,
                                       const struct bertfile_output *output,
                                       struct bert_error *error) {
    struct buffer header = {0};
    if (!format_header(plan, source_sha256, plan->header, &header) ||
        header.size != plan->header) {
        buffer_release(&header);
        return error_memory(error);
    }
    if (!plan->input.hugging_face)
        put_checksum(plan, &header);
    enum bert_status status =
        output->write(output->arg, 0, header.data, header.size, error);
    buffer_release(&header);
    return status;
}
