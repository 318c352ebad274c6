/* SPDX-License-Identifier: MIT
 *
 * config.c: reads the sizes strictly: they decide what is allocated later. */
#include "model/config.h"

#include "base/mapping.h"
#include "base/path.h"
#include "io/json.h"

#include <math.h>

/* An absent size has the default of Hugging Face's BertConfig, or 0: the tensors decide.
 */
static const struct size_rule {
    const char *name;
    size_t offset;
    int otherwise, most;
} sizes[] = {
    {"num_hidden_layers", offsetof(struct model_config, layers), 12, 1000},
    {"hidden_size", offsetof(struct model_config, hidden), 768, 16384},
    {"num_attention_heads", offsetof(struct model_config, heads), 12, 1024},
    {"intermediate_size", offsetof(struct model_config, intermediate), 3072, 131072},
    {"vocab_size", offsetof(struct model_config, vocabulary), 0, 4000000},
    {"max_position_embeddings", offsetof(struct model_config, positions), 0, 1 << 20},
    {"type_vocab_size", offsetof(struct model_config, types), 0, 1 << 20},
};

static const struct {
    const char *name;
    enum activation activation;
} activations[] = {
    {"gelu", ACTIVATION_GELU},
    {"gelu_new", ACTIVATION_GELU_TANH},
    {"gelu_pytorch_tanh", ACTIVATION_GELU_TANH},
};

static enum bert_status refuse(const char *file, const char *key, struct span value,
                               const char *wanted, struct bert_error *error) {
    return error_set(error, BERT_MODEL, "%s: %s is '%.60s'; only %s can be read", file,
                     key, value.data, wanted);
}

static enum bert_status read_sizes(struct model_config *model, const struct json *json,
                                   const char *file, struct bert_error *error) {
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const struct size_rule *rule = &sizes[i];
        const struct json *value = json_member(json, rule->name);
        int64_t size = rule->otherwise;
        if (json_kind(value) != JSON_KIND_NULL &&
            (!json_get_whole(value, &size) || size < 1 || size > rule->most))
            return error_set(error, BERT_MODEL, "%s: %s is no whole number from 1 to %d",
                             file, rule->name, rule->most);
        *(int *)((char *)model + rule->offset) = (int)size;
    }
    if (model->hidden % model->heads != 0)
        return error_set(error, BERT_MODEL,
                         "%s: hidden_size %d is no multiple of %d heads", file,
                         model->hidden, model->heads);
    return BERT_OK;
}

static enum bert_status read_kinds(struct model_config *model, const struct json *json,
                                   const char *file, struct bert_error *error) {
    struct span text;
    if (json_get_text(json_member(json, "model_type"), &text) &&
        !span_equal(text, span_of("bert")))
        return refuse(file, "model_type", text, "bert", error);
    if (json_get_text(json_member(json, "position_embedding_type"), &text) &&
        !span_equal(text, span_of("absolute")))
        return refuse(file, "position_embedding_type", text, "absolute", error);
    bool decoder = false;
    if (json_get_bool(json_member(json, "is_decoder"), &decoder) && decoder)
        return error_set(error, BERT_MODEL,
                         "%s: is_decoder is true; only encoders can be read", file);
    text = span_of("gelu");
    json_get_text(json_member(json, "hidden_act"), &text);
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++) {
        if (span_equal(text, span_of(activations[i].name))) {
            model->activation = activations[i].activation;
            return BERT_OK;
        }
    }
    return refuse(file, "hidden_act", text, "gelu and gelu_new", error);
}

enum bert_status config_parse(struct config *config, struct span text, const char *name,
                              struct bert_error *error) {
    struct json *json;
    struct bert_error why;
    *config = (struct config){.tied = true};
    if (json_parse(&json, text.data, text.size, CONFIG_SIZE_MAX, &why) != BERT_OK)
        return error_set(error, BERT_MODEL, "%s: %s", name, why.message);
    enum bert_status status = BERT_OK;
    if (json_kind(json) != JSON_KIND_OBJECT)
        status = error_set(error, BERT_MODEL, "%s: no JSON object", name);
    if (status == BERT_OK)
        status = read_kinds(&config->model, json, name, error);
    if (status == BERT_OK)
        status = read_sizes(&config->model, json, name, error);
    double epsilon = 1e-12;
    json_get_number(json_member(json, "layer_norm_eps"), &epsilon);
    if (status == BERT_OK && !(epsilon >= 0 && epsilon <= 1))
        status =
            error_set(error, BERT_MODEL, "%s: layer_norm_eps is not from 0 to 1", name);
    config->model.epsilon = (float)fabs(epsilon); /* -0 is 0 */
    json_get_bool(json_member(json, "tie_word_embeddings"), &config->tied);
    json_free(json);
    return status;
}

enum bert_status config_read(struct config *config, const char *folder, const char *model,
                             struct bert_error *error) {
    static const char *const names[] = {"config.json", "bert_config.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = path_join(folder, names[i]);
        if (!path)
            return error_memory(error);
        struct mapping mapping = {0};
        enum bert_status status = BERT_MODEL;
        bool found = path_exists(path);
        if (found)
            status = mapping_open(&mapping, path, true, error);
        if (status == BERT_OK) {
            struct span text = {(const char *)mapping.data, mapping.size};
            status = config_parse(config, text, path, error);
            mapping_close(&mapping);
        }
        free(path);
        if (found)
            return status;
    }
    return error_set(error, BERT_MODEL,
                     path_is_folder(model)
                         ? "%s: no config.json in this folder"
                         : "%s: neither a model.bert nor weights beside a config.json",
                     model);
}

void config_write(const struct config *config, struct buffer *out) {
    const struct model_config *model = &config->model;
    buffer_add_text(
        out, "{\"architectures\": [\"BertForMaskedLM\"], \"model_type\": \"bert\"");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        buffer_printf(out, ", \"%s\": %d", sizes[i].name,
                      *(const int *)((const char *)model + sizes[i].offset));
    buffer_add_text(out, ", \"layer_norm_eps\": ");
    /* The fewest digits that give the same float, so that 1e-12 stays 1e-12. */
    int digits = 1;
    char text[32];
    do
        snprintf(text, sizeof text, "%.*g", digits, (double)model->epsilon);
    while (strtof(text, NULL) != model->epsilon && digits++ < 9);
    buffer_add_text(out, text);
    const char *activation =
        model->activation == ACTIVATION_GELU_TANH ? "gelu_new" : "gelu";
    buffer_printf(out, ", \"hidden_act\": \"%s\", \"tie_word_embeddings\": %s}",
                  activation, config->tied ? "true" : "false");
}
