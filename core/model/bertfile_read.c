/* SPDX-License-Identifier: MIT
 *
 * bertfile_read.c: opens a model.bert. Everything that later decides an address or a size
 * is checked here; the weights themselves are only numbers. */
#include "model/bertfile.h"

#include "io/json.h"
#include "model/bertfile_format.h"
#include "model/quantize.h"
#include "model/safetensors.h"

#include <math.h>

static const char *const precisions[] = {
    [BERT_F32] = "f32", [BERT_F16] = "f16", [BERT_INT8] = "int8"};

const char *precision_name(enum bert_precision precision) {
    return precision == BERT_PRECISION_DEFAULT ? "default" : precisions[precision];
}

bool bertfile_is(const void *bytes, size_t size) {
    return size >= BERTFILE_DIGITS + 8 && memcmp((const char *)bytes + 8, BERTFILE_PREFIX,
                                                 sizeof BERTFILE_PREFIX - 1) == 0;
}

static enum bert_status damaged(const char *path, const char *what,
                                struct bert_error *error) {
    return error_set(error, BERT_MODEL, "%s: damaged: %s", path, what);
}

/* A member of __metadata__; empty when it is not there. */
static struct span fact(const struct json *metadata, const char *name) {
    struct span text = {"", 0};
    json_get_text(json_member(metadata, name), &text);
    return text;
}

static enum bert_status read_version(const struct json *metadata, const char *path,
                                     struct bert_error *error) {
    struct span text = fact(metadata, "version");
    char *end;
    long version = strtol(text.data, &end, 10);
    if (text.size == 0 || *end != '\0' || version < 1)
        return damaged(path, "no version in it", error);
    if (version > BERTFILE_VERSION)
        return error_set(error, BERT_MODEL,
                         "%s: format version %ld; this program reads versions up to %d",
                         path, version, BERTFILE_VERSION);
    return BERT_OK;
}

static enum bert_status read_metadata(struct bertfile *file, const struct json *metadata,
                                      const char *path, struct bert_error *error) {
    enum bert_status status = read_version(metadata, path, error);
    if (status == BERT_OK)
        status = config_parse(&file->config, fact(metadata, "config"), path, error);
    if (status == BERT_OK)
        status = tokenizer_settings_parse(&file->tokenizer, fact(metadata, "tokenizer"),
                                          path, error);
    if (status != BERT_OK)
        return status;
    for (int i = BERT_F32; i <= BERT_INT8; i++)
        if (span_equal(fact(metadata, "precision"), span_of(precisions[i])))
            file->precision = (enum bert_precision)i;
    if (file->precision == BERT_PRECISION_DEFAULT)
        return damaged(path, "its precision is unknown", error);
    file->source = strdup(fact(metadata, "source").data);
    file->source_sha256 = strdup(fact(metadata, "source_sha256").data);
    file->license = strdup(fact(metadata, "license").data);
    return file->source && file->source_sha256 && file->license ? BERT_OK
                                                                : error_memory(error);
}

/* The checksum of the first size bytes, with its own digits as zeros. */
static uint32_t head_checksum(const unsigned char *bytes, size_t size) {
    uint32_t crc = crc32c(0, bytes, BERTFILE_DIGITS);
    crc = crc32c(crc, "00000000", 8);
    return crc32c(crc, bytes + BERTFILE_DIGITS + 8, size - BERTFILE_DIGITS - 8);
}

static const struct tensor *named(const struct checkpoint *checkpoint, size_t *cursor,
                                  const char *name) {
    /* The file has them in the order of asking, so this looks at one or two. */
    for (size_t i = 0; i < checkpoint->count; i++) {
        size_t at = (*cursor + i) % checkpoint->count;
        if (strcmp(checkpoint->tensors[at].name, name) == 0) {
            *cursor = at + 1;
            return &checkpoint->tensors[at];
        }
    }
    return NULL;
}

static enum bert_status check_head(struct bertfile *file, const unsigned char *bytes,
                                   const struct json *metadata, const char *path,
                                   struct bert_error *error) {
    size_t cursor = 0;
    const struct tensor *vocabulary =
        named(&file->checkpoint, &cursor, BERTFILE_VOCABULARY);
    if (!vocabulary || vocabulary->element != ELEMENT_U8 || vocabulary->rank != 1)
        return damaged(path, "no vocabulary in it", error);
    file->vocabulary =
        (struct span){(const char *)vocabulary->data, vocabulary->shape[0]};
    size_t end = (size_t)(vocabulary->data - bytes) + file->vocabulary.size;
    uint32_t crc = head_checksum(bytes, end);
    char digits[9];
    snprintf(digits, sizeof digits, "%08x", crc);
    if (memcmp(digits, bytes + BERTFILE_DIGITS, 8) != 0)
        return damaged(path, "the checksum of header and vocabulary is wrong", error);
    struct span weights = fact(metadata, "weights_checksum");
    snprintf(file->weights_checksum, sizeof file->weights_checksum, "%s", weights.data);
    file->identity = hash_bytes(crc, weights.data, weights.size);
    size_t lines = vocabulary_lines(file->vocabulary);
    if (lines > (size_t)file->config.model.vocabulary)
        return damaged(path, "its vocabulary is longer than its embeddings", error);
    return BERT_OK;
}

enum bert_status bertfile_open(struct bertfile *file, const void *bytes, size_t size,
                               const char *path, struct bert_error *error) {
    *file = (struct bertfile){0};
    arena_init(&file->checkpoint.arena);
    file->checkpoint.format = "model.bert";
    if (!bertfile_is(bytes, size))
        return error_set(error, BERT_MODEL, "%s: no model.bert file", path);
    struct safetensors_header header;
    enum bert_status status = safetensors_header(&header, bytes, size, path, error);
    if (status != BERT_OK)
        return status;
    const struct json *metadata = json_member(header.json, "__metadata__");
    file->checkpoint.path = arena_text(&file->checkpoint.arena, path, strlen(path));
    status =
        read_version(metadata, path, error); /* first: a newer file may differ in all */
    if (status == BERT_OK)
        status = safetensors_add(&file->checkpoint, &header, bytes, size, path, error);
    if (status == BERT_OK)
        status = checkpoint_index(&file->checkpoint, error);
    if (status == BERT_OK)
        status = read_metadata(file, metadata, path, error);
    if (status == BERT_OK)
        status = check_head(file, bytes, metadata, path, error);
    json_free(header.json);
    return status;
}

void bertfile_release(struct bertfile *file) {
    checkpoint_close(&file->checkpoint);
    free(file->source);
    free(file->source_sha256);
    free(file->license);
    *file = (struct bertfile){0};
}

/* ---- Weights of an int8 file ---- */

struct finder {
    const struct checkpoint *checkpoint;
    const struct model_config *model;
    size_t cursor;
    struct bert_error *error;
    enum bert_status status; /* sticky */
};

static const void *find(struct finder *finder, const char *name, enum element element,
                        size_t count, const uint64_t *shape, int rank) {
    if (finder->status != BERT_OK)
        return NULL;
    const struct tensor *tensor = named(finder->checkpoint, &finder->cursor, name);
    size_t elements;
    bool good = tensor && tensor->element == element && tensor->rank == rank &&
                tensor_elements(tensor, &elements) && elements == count &&
                (uintptr_t)tensor->data % BERTFILE_ALIGNMENT == 0;
    for (int i = 0; good && i < rank; i++)
        good = tensor->shape[i] == shape[i];
    if (good)
        return tensor->data;
    finder->status = error_set(finder->error, BERT_MODEL, "%s: damaged: tensor %s is %s",
                               finder->checkpoint->path, name,
                               tensor ? "not as it must be" : "missing");
    return NULL;
}

static const void *find_vector(struct finder *finder, const char *name,
                               enum element element, size_t count) {
    uint64_t shape = count;
    return find(finder, name, element, count, &shape, 1);
}

static const void *find_field(struct finder *finder, struct slot slot, const char *field,
                              enum element element, size_t count) {
    char name[NAME_SIZE];
    names_field(slot, field, name);
    return find_vector(finder, name, element, count);
}

static const void *find_part(struct finder *finder, int layer, enum part part) {
    struct shape shape = part_shape(finder->model, part);
    char name[NAME_SIZE];
    names_format((struct slot){layer, part}, name);
    if (shape.rows == 0)
        return find_vector(finder, name, ELEMENT_F32, shape.columns);
    uint64_t sizes[2] = {shape.rows, shape.columns};
    return find(finder, name, ELEMENT_F16, shape.rows * shape.columns, sizes, 2);
}

static struct linear find_panels(struct finder *finder, int layer, enum part weight) {
    struct slot slot = {layer, weight};
    struct shape shape = part_shape(finder->model, weight);
    size_t out = weight == PART_QUERY_WEIGHT ? 3 * shape.rows : shape.rows;
    size_t padded = panel_outputs(out);
    uint64_t sizes[4] = {padded / PANEL, (shape.columns + GROUP - 1) / GROUP, PANEL,
                         GROUP};
    char name[NAME_SIZE];
    names_field(slot, "weight", name);
    return (struct linear){
        .precision = BERT_INT8,
        .in = shape.columns,
        .out = out,
        .weight =
            find(finder, name, ELEMENT_I8, panel_bytes(shape.columns, out), sizes, 4),
        .scale = find_field(finder, slot, "scale", ELEMENT_F32, padded),
        .sum = find_field(finder, slot, "sum", ELEMENT_I32, padded),
        .bias = find_field(finder, slot, "bias", ELEMENT_F32, padded),
    };
}

static struct norm find_norm(struct finder *finder, int layer, enum part weight) {
    size_t hidden = (size_t)finder->model->hidden;
    bool head = weight == PART_TRANSFORM_NORM_WEIGHT;
    struct slot slot = {layer, weight};
    return (struct norm){
        .gamma = find_part(finder, layer, weight),
        .beta = find_part(finder, layer, weight + 1),
        .quant = head ? NULL : find_field(finder, slot, "quant", ELEMENT_F32, hidden),
    };
}

static struct table find_table(struct finder *finder, enum part part) {
    struct shape shape = part_shape(finder->model, part);
    return (struct table){BERT_F16, shape.rows, shape.columns,
                          find_part(finder, -1, part)};
}

static void find_layers(struct finder *finder, struct layer *layers) {
    for (int i = 0; finder->status == BERT_OK && i < finder->model->layers; i++) {
        struct layer *layer = &layers[i];
        layer->query_key_value = find_panels(finder, i, PART_QUERY_WEIGHT);
        layer->attention_output = find_panels(finder, i, PART_ATTENTION_OUTPUT_WEIGHT);
        layer->attention_norm = find_norm(finder, i, PART_ATTENTION_NORM_WEIGHT);
        layer->up = find_panels(finder, i, PART_UP_WEIGHT);
        layer->down = find_panels(finder, i, PART_DOWN_WEIGHT);
        layer->output_norm = find_norm(finder, i, PART_OUTPUT_NORM_WEIGHT);
    }
}

static void find_head(struct finder *finder, const struct config *config,
                      struct weights *weights) {
    size_t hidden = (size_t)config->model.hidden;
    weights->transform =
        (struct linear){.precision = BERT_F16,
                        .in = hidden,
                        .out = hidden,
                        .weight = find_part(finder, -1, PART_TRANSFORM_WEIGHT),
                        .bias = find_part(finder, -1, PART_TRANSFORM_BIAS)};
    weights->transform_norm = find_norm(finder, -1, PART_TRANSFORM_NORM_WEIGHT);
    weights->decoder = (struct linear){
        .precision = BERT_F16,
        .in = hidden,
        .out = weights->word.rows,
        .weight = config->tied ? weights->word.data
                               : find_part(finder, -1, PART_DECODER_WEIGHT),
        .bias = find_part(finder, -1, PART_HEAD_BIAS)};
}

enum bert_status bertfile_weights(const struct bertfile *file, struct weights *weights,
                                  struct keeper *keeper, struct bert_error *error) {
    if (file->precision != BERT_INT8) {
        struct parts parts;
        enum bert_status status =
            parts_check(&parts, &file->checkpoint, &file->config, NULL, NULL, error);
        return status == BERT_OK
                   ? assemble(weights, keeper, &parts, file->precision, error)
                   : status;
    }
    const struct model_config *model = &file->config.model;
    if (model->vocabulary == 0 || model->positions == 0 || model->types == 0)
        return damaged(file->checkpoint.path, "its configuration lacks sizes", error);
    struct finder finder = {&file->checkpoint, model, 0, error, BERT_OK};
    *weights = (struct weights){.config = *model, .precision = BERT_INT8};
    weights->layers =
        keeper_alloc(keeper, (size_t)model->layers * sizeof *weights->layers);
    if (!weights->layers)
        return error_memory(error);
    weights->word = find_table(&finder, PART_WORD);
    weights->position = find_table(&finder, PART_POSITION);
    weights->type = find_table(&finder, PART_TYPE);
    weights->embedding_norm = find_norm(&finder, -1, PART_EMBEDDING_NORM_WEIGHT);
    find_layers(&finder, weights->layers);
    find_head(&finder, &file->config, weights);
    return finder.status;
}

/* ---- Verification ---- */

static bool tensor_finite(const struct tensor *tensor) {
    size_t count = 0;
    tensor_elements(tensor, &count);
    for (size_t i = 0; tensor->element == ELEMENT_F32 && i < count; i++)
        if ((load_u32(tensor->data + 4 * i) & 0x7f800000u) == 0x7f800000u)
            return false;
    for (size_t i = 0; tensor->element == ELEMENT_F16 && i < count; i++)
        if ((load_u16(tensor->data + 2 * i) & 0x7c00u) == 0x7c00u)
            return false;
    return true;
}

enum bert_status bertfile_verify(const struct bertfile *file, struct bert_error *error) {
    uint32_t all = 0;
    for (size_t i = 0; i < file->checkpoint.count; i++) {
        const struct tensor *tensor = &file->checkpoint.tensors[i];
        size_t extent = 0;
        tensor_extent(tensor, &extent);
        uint32_t crc = crc32c(0, tensor->data, extent);
        unsigned char bytes[4] = {(unsigned char)crc, (unsigned char)(crc >> 8),
                                  (unsigned char)(crc >> 16), (unsigned char)(crc >> 24)};
        all = crc32c(all, bytes, sizeof bytes);
        if (!tensor_finite(tensor))
            return error_set(error, BERT_MODEL, "%s: %s holds a value that is not finite",
                             file->checkpoint.path, tensor->name);
    }
    char digits[9];
    snprintf(digits, sizeof digits, "%08x", all);
    if (strcmp(digits, file->weights_checksum) != 0)
        return damaged(file->checkpoint.path, "the checksum of the weights is wrong",
                       error);
    return BERT_OK;
}
