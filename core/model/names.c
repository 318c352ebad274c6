/* SPDX-License-Identifier: MIT
 *
 * names.c: every spelling is rewritten into that of Hugging Face and looked up in one
 * table. */
#include "model/names.h"

#include "base/bytes.h"

enum { LAYERS_MAX = 9999 };

static const char layer_prefix[] = "bert.encoder.layer.";

static const char *const parts[PARTS] = {
    [PART_WORD] = "bert.embeddings.word_embeddings.weight",
    [PART_POSITION] = "bert.embeddings.position_embeddings.weight",
    [PART_TYPE] = "bert.embeddings.token_type_embeddings.weight",
    [PART_EMBEDDING_NORM_WEIGHT] = "bert.embeddings.LayerNorm.weight",
    [PART_EMBEDDING_NORM_BIAS] = "bert.embeddings.LayerNorm.bias",
    [PART_TRANSFORM_WEIGHT] = "cls.predictions.transform.dense.weight",
    [PART_TRANSFORM_BIAS] = "cls.predictions.transform.dense.bias",
    [PART_TRANSFORM_NORM_WEIGHT] = "cls.predictions.transform.LayerNorm.weight",
    [PART_TRANSFORM_NORM_BIAS] = "cls.predictions.transform.LayerNorm.bias",
    [PART_DECODER_WEIGHT] = "cls.predictions.decoder.weight",
    [PART_DECODER_BIAS] = "cls.predictions.decoder.bias",
    [PART_HEAD_BIAS] = "cls.predictions.bias",
    [PART_QUERY_WEIGHT] = "attention.self.query.weight",
    [PART_QUERY_BIAS] = "attention.self.query.bias",
    [PART_KEY_WEIGHT] = "attention.self.key.weight",
    [PART_KEY_BIAS] = "attention.self.key.bias",
    [PART_VALUE_WEIGHT] = "attention.self.value.weight",
    [PART_VALUE_BIAS] = "attention.self.value.bias",
    [PART_ATTENTION_OUTPUT_WEIGHT] = "attention.output.dense.weight",
    [PART_ATTENTION_OUTPUT_BIAS] = "attention.output.dense.bias",
    [PART_ATTENTION_NORM_WEIGHT] = "attention.output.LayerNorm.weight",
    [PART_ATTENTION_NORM_BIAS] = "attention.output.LayerNorm.bias",
    [PART_UP_WEIGHT] = "intermediate.dense.weight",
    [PART_UP_BIAS] = "intermediate.dense.bias",
    [PART_DOWN_WEIGHT] = "output.dense.weight",
    [PART_DOWN_BIAS] = "output.dense.bias",
    [PART_OUTPUT_NORM_WEIGHT] = "output.LayerNorm.weight",
    [PART_OUTPUT_NORM_BIAS] = "output.LayerNorm.bias",
};

static bool starts(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Replaces the suffix from, if name ends with it; the new name fits when the old one did
 * with NAME_SIZE / 2. */
static bool replace_end(char *name, const char *from, const char *to) {
    if (!text_ends_with(name, from))
        return false;
    memcpy(name + strlen(name) - strlen(from), to, strlen(to) + 1);
    return true;
}

/* bert/encoder/layer_0/output/dense/kernel → bert.encoder.layer.0.output.dense.weight */
static void from_tensorflow(char *name, bool *transposed) {
    for (char *at = name; *at; at++)
        if (*at == '/')
            *at = '.';
    if (starts(name, "bert.encoder.layer_"))
        name[strlen(layer_prefix) - 1] = '.';
    if (text_ends_with(name, "_embeddings"))
        replace_end(name, "_embeddings", "_embeddings.weight");
    *transposed = replace_end(name, ".kernel", ".weight");
    replace_end(name, "cls.predictions.output_bias", "cls.predictions.bias");
}

bool names_find(const char *name, struct slot *slot, bool *transposed) {
    char text[NAME_SIZE] = "";
    *transposed = false;
    while (starts(name, "module."))
        name += strlen("module.");
    size_t size = strlen(name), used = 0;
    if (size >= NAME_SIZE / 2)
        return false;
    if (starts(name, "embeddings.") || starts(name, "encoder."))
        used = 5;
    memcpy(text, "bert.", used);
    memcpy(text + used, name, size + 1);
    if (strchr(text, '/'))
        from_tensorflow(text, transposed);
    replace_end(text, ".LayerNorm.gamma", ".LayerNorm.weight");
    replace_end(text, ".LayerNorm.beta", ".LayerNorm.bias");

    const char *rest = text;
    int first = 0, last = PART_LAYER, layer = -1;
    if (starts(text, layer_prefix)) {
        rest += strlen(layer_prefix);
        char *end;
        long number = strtol(rest, &end, 10);
        if (*rest < '0' || *rest > '9' || (*rest == '0' && end != rest + 1) ||
            *end != '.' || number > LAYERS_MAX)
            return false;
        layer = (int)number;
        rest = end + 1;
        first = PART_LAYER;
        last = PARTS;
    }
    for (int i = first; i < last; i++) {
        if (strcmp(parts[i], rest) == 0) {
            *slot = (struct slot){layer, (enum part)i};
            return true;
        }
    }
    return false;
}

void names_format(struct slot slot, char name[NAME_SIZE]) {
    if (slot.part < PART_LAYER)
        snprintf(name, NAME_SIZE, "%s", parts[slot.part]);
    else
        snprintf(name, NAME_SIZE, "%s%d.%s", layer_prefix, slot.layer, parts[slot.part]);
}

void names_field(struct slot weight, const char *field, char name[NAME_SIZE]) {
    names_format(weight, name);
    if (weight.part == PART_QUERY_WEIGHT)
        replace_end(name, ".query.weight", ".query_key_value.weight");
    size_t base = strlen(name) - strlen("weight");
    snprintf(name + base, NAME_SIZE - base, "%s", field);
}

int names_compare(struct slot a, struct slot b) {
    if (a.layer != b.layer)
        return a.layer < b.layer ? -1 : 1;
    return (a.part > b.part) - (a.part < b.part);
}
