/* SPDX-License-Identifier: MIT
 *
 * loader.c: tells a model.bert from a folder, and joins the readers into one model. */
#include "model/loader.h"

#include "base/path.h"
#include "model/assemble.h"
#include "model/checkpoint.h"
#include "model/tokenizer_files.h"

struct model_file {
    struct checkpoint checkpoint;
    struct config config;
    struct tokenizer_files tokenizer;
    struct keeper keeper;
    struct weights weights;
    bool has_weights;
    const char *format;
    char *source;
    uint64_t identity;
};

/* The folder of a file or of a TensorFlow prefix, malloc'ed. */
static char *folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    if (path_is_folder(path))
        return strdup(path);
    if (!slash)
        return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

static enum bert_status check_vocabulary(const struct model_file *file, const char *path,
                                         struct bert_error *error) {
    size_t lines = vocabulary_lines(file->tokenizer.vocabulary);
    if (lines > (size_t)file->config.model.vocabulary)
        return error_set(error, BERT_MODEL,
                         "%s: the vocabulary has %zu entries, the word embeddings %d rows", path,
                         lines, file->config.model.vocabulary);
    return BERT_OK;
}

static void set_identity(struct model_file *file) {
    struct buffer text = {0};
    config_write(&file->config, &text);
    tokenizer_settings_write(&file->tokenizer.settings, &text);
    uint64_t hash = file->has_weights ? checkpoint_identity(&file->checkpoint) : HASH_SEED;
    if (text.data)
        hash = hash_bytes(hash, text.data, text.size);
    file->identity =
        hash_bytes(hash, file->tokenizer.vocabulary.data, file->tokenizer.vocabulary.size);
    buffer_release(&text);
}

static enum bert_status open_weights(struct model_file *file, const char *path,
                                     const struct loader_options *options,
                                     struct bert_error *error) {
    enum bert_status status =
        checkpoint_open(&file->checkpoint, path, options->no_mmap, error);
    if (status != BERT_OK)
        return status;
    file->format = file->checkpoint.format;
    struct parts parts;
    status = parts_check(&parts, &file->checkpoint, &file->config, options->note,
                         options->note_arg, error);
    if (status != BERT_OK)
        return status;
    file->config = parts.config;
    status = check_vocabulary(file, path, error);
    if (status != BERT_OK)
        return status;
    enum bert_precision precision =
        options->precision == BERT_PRECISION_DEFAULT ? BERT_F32 : options->precision;
    file->has_weights = true;
    return assemble(&file->weights, &file->keeper, &parts, precision, error);
}

static enum bert_status open_folder(struct model_file *file, const char *path,
                                    const struct loader_options *options,
                                    struct bert_error *error) {
    if (!path_exists(path))
        return error_set(error, BERT_MODEL, "%s: no such file or folder", path);
    char *folder = folder_of(path);
    if (!folder)
        return error_memory(error);
    enum bert_status status = config_read(&file->config, folder, error);
    if (status == BERT_OK)
        status = tokenizer_files_read(&file->tokenizer, folder, file->config.model.vocabulary,
                                      options, error);
    free(folder);
    if (status == BERT_OK && !options->tokenizer_only)
        status = open_weights(file, path, options, error);
    if (status == BERT_OK)
        set_identity(file);
    return status;
}

enum bert_status loader_open(struct model_file **result, const char *path,
                             const struct loader_options *options,
                             struct bert_error *error) {
    static const struct loader_options defaults;
    struct model_file *file = calloc(1, sizeof *file);
    if (!file || !(file->source = strdup(path))) {
        free(file);
        return error_memory(error);
    }
    enum bert_status status = open_folder(file, path, options ? options : &defaults, error);
    if (status != BERT_OK) {
        loader_close(file);
        file = NULL;
    }
    *result = file;
    return status;
}

void loader_close(struct model_file *file) {
    if (!file)
        return;
    checkpoint_close(&file->checkpoint);
    keeper_release(&file->keeper);
    buffer_release(&file->tokenizer.owned);
    free(file->source);
    free(file);
}

const struct weights *loader_weights(const struct model_file *file) {
    return file->has_weights ? &file->weights : NULL;
}

const struct tokenizer_settings *loader_tokenizer(const struct model_file *file) {
    return &file->tokenizer.settings;
}

struct span loader_vocabulary(const struct model_file *file) {
    return file->tokenizer.vocabulary;
}

void loader_facts(const struct model_file *file, struct loader_facts *facts) {
    *facts = (struct loader_facts){
        .format = file->format, .source = file->source, .identity = file->identity};
}
