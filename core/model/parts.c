/* SPDX-License-Identifier: MIT
 *
 * parts.c: one table of shapes; the decoder's ties are resolved here and nowhere else. */
#include "model/parts.h"

enum dimension { ONE, HIDDEN, INTERMEDIATE, VOCABULARY, POSITIONS, TYPES };

static const struct {
    enum dimension rows, columns;
} shapes[PARTS] = {
    [PART_WORD] = {VOCABULARY, HIDDEN},
    [PART_POSITION] = {POSITIONS, HIDDEN},
    [PART_TYPE] = {TYPES, HIDDEN},
    [PART_EMBEDDING_NORM_WEIGHT] = {ONE, HIDDEN},
    [PART_EMBEDDING_NORM_BIAS] = {ONE, HIDDEN},
    [PART_TRANSFORM_WEIGHT] = {HIDDEN, HIDDEN},
    [PART_TRANSFORM_BIAS] = {ONE, HIDDEN},
    [PART_TRANSFORM_NORM_WEIGHT] = {ONE, HIDDEN},
    [PART_TRANSFORM_NORM_BIAS] = {ONE, HIDDEN},
    [PART_DECODER_WEIGHT] = {VOCABULARY, HIDDEN},
    [PART_DECODER_BIAS] = {ONE, VOCABULARY},
    [PART_HEAD_BIAS] = {ONE, VOCABULARY},
    [PART_QUERY_WEIGHT] = {HIDDEN, HIDDEN},
    [PART_QUERY_BIAS] = {ONE, HIDDEN},
    [PART_KEY_WEIGHT] = {HIDDEN, HIDDEN},
    [PART_KEY_BIAS] = {ONE, HIDDEN},
    [PART_VALUE_WEIGHT] = {HIDDEN, HIDDEN},
    [PART_VALUE_BIAS] = {ONE, HIDDEN},
    [PART_ATTENTION_OUTPUT_WEIGHT] = {HIDDEN, HIDDEN},
    [PART_ATTENTION_OUTPUT_BIAS] = {ONE, HIDDEN},
    [PART_ATTENTION_NORM_WEIGHT] = {ONE, HIDDEN},
    [PART_ATTENTION_NORM_BIAS] = {ONE, HIDDEN},
    [PART_UP_WEIGHT] = {INTERMEDIATE, HIDDEN},
    [PART_UP_BIAS] = {ONE, INTERMEDIATE},
    [PART_DOWN_WEIGHT] = {HIDDEN, INTERMEDIATE},
    [PART_DOWN_BIAS] = {ONE, HIDDEN},
    [PART_OUTPUT_NORM_WEIGHT] = {ONE, HIDDEN},
    [PART_OUTPUT_NORM_BIAS] = {ONE, HIDDEN},
};

static size_t dimension_size(const struct model_config *model, enum dimension dimension) {
    const int sizes[] = {[ONE] = 0,
                         [HIDDEN] = model->hidden,
                         [INTERMEDIATE] = model->intermediate,
                         [VOCABULARY] = model->vocabulary,
                         [POSITIONS] = model->positions,
                         [TYPES] = model->types};
    return (size_t)sizes[dimension];
}

struct shape part_shape(const struct model_config *model, enum part part) {
    return (struct shape){dimension_size(model, shapes[part].rows),
                          dimension_size(model, shapes[part].columns)};
}

static enum bert_status check_part(const struct parts *parts, struct slot slot,
                                   const struct tensor *tensor,
                                   struct bert_error *error) {
    struct shape want = part_shape(&parts->config.model, slot.part);
    const char *path = parts->checkpoint->path;
    char name[NAME_SIZE];
    names_format(slot, name);
    if (!tensor)
        return error_set(error, BERT_MODEL, "%s: no tensor %s", path, name);
    if (!tensor_is_float(tensor))
        return error_set(error, BERT_MODEL, "%s: %s holds no floats (%s, %d dimensions)",
                         path, tensor->name, element_name(tensor->element), tensor->rank);
    size_t rows = tensor->rank == 2 ? tensor->shape[0] : 0;
    if (rows != want.rows || tensor_columns(tensor) != want.columns)
        return error_set(
            error, BERT_MODEL,
            "%s: %s has %zu rows of %zu; the configuration demands %zu of %zu", path,
            tensor->name, tensor_rows(tensor), tensor_columns(tensor),
            want.rows ? want.rows : 1, want.columns);
    return BERT_OK;
}

/* Sizes that the configuration leaves open are those of the tables. */
static void complete_sizes(struct parts *parts) {
    struct model_config *model = &parts->config.model;
    const struct {
        enum part part;
        int *size;
    } open[] = {{PART_WORD, &model->vocabulary},
                {PART_POSITION, &model->positions},
                {PART_TYPE, &model->types}};
    for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
        const struct tensor *table = checkpoint_find(parts->checkpoint, -1, open[i].part);
        if (*open[i].size == 0 && table && table->rank == 2 &&
            table->shape[0] < INT32_MAX)
            *open[i].size = (int)table->shape[0];
    }
}

/* a, unless only b is there; *differ when both are and differ. */
static const struct tensor *choose(const struct tensor *a, const struct tensor *b,
                                   bool *differ) {
    *differ = a && b && !tensor_equal(a, b);
    return a && (!b || *differ) ? a : b;
}

static void resolve_decoder(struct parts *parts, note_function *note, void *note_arg) {
    const struct checkpoint *checkpoint = parts->checkpoint;
    const struct tensor *word = checkpoint_find(checkpoint, -1, PART_WORD);
    bool differ;
    parts->decoder_weight =
        choose(checkpoint_find(checkpoint, -1, PART_DECODER_WEIGHT), word, &differ);
    if (differ && parts->config.tied && note)
        note(note_arg, "the decoder's weights differ from the word embeddings, although "
                       "config.json ties them: the decoder's own are used");
    parts->config.tied = parts->decoder_weight == word;
    parts->decoder_bias =
        choose(checkpoint_find(checkpoint, -1, PART_DECODER_BIAS),
               checkpoint_find(checkpoint, -1, PART_HEAD_BIAS), &differ);
    if (differ && note)
        note(note_arg,
             "cls.predictions.decoder.bias and cls.predictions.bias differ: the "
             "first is used");
}

const struct tensor *parts_get(const struct parts *parts, int layer, enum part part) {
    if (part == PART_DECODER_WEIGHT)
        return parts->decoder_weight;
    if (part == PART_DECODER_BIAS || part == PART_HEAD_BIAS)
        return parts->decoder_bias;
    return checkpoint_find(parts->checkpoint, layer, part);
}

enum bert_status parts_check(struct parts *parts, const struct checkpoint *checkpoint,
                             const struct config *config, note_function *note,
                             void *note_arg, struct bert_error *error) {
    *parts = (struct parts){.checkpoint = checkpoint, .config = *config};
    if (!checkpoint_find(checkpoint, -1, PART_WORD))
        return error_set(error, BERT_MODEL, "%s: no BERT: no word embeddings in it",
                         checkpoint->path);
    if (!checkpoint_find(checkpoint, -1, PART_TRANSFORM_WEIGHT) &&
        !checkpoint_find(checkpoint, -1, PART_TRANSFORM_NORM_WEIGHT))
        return error_set(error, BERT_MODEL,
                         "%s: no masked-LM head (cls.predictions.*): an encoder alone "
                         "cannot fill masks",
                         checkpoint->path);
    complete_sizes(parts);
    resolve_decoder(parts, note, note_arg);
    enum bert_status status = BERT_OK;
    for (int part = 0; status == BERT_OK && part < PART_LAYER; part++) {
        struct slot slot = {-1, (enum part)part};
        status = check_part(parts, slot, parts_get(parts, -1, slot.part), error);
    }
    for (int layer = 0; status == BERT_OK && layer < config->model.layers; layer++)
        for (int part = PART_LAYER; status == BERT_OK && part < PARTS; part++) {
            struct slot slot = {layer, (enum part)part};
            status = check_part(parts, slot, parts_get(parts, layer, slot.part), error);
        }
    return status;
}
