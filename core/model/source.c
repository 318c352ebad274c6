/* SPDX-License-Identifier: MIT
 *
 * source.c: tells a model.bert from a folder, a file in one, or a TensorFlow prefix. */
#include "model/source.h"

#include "base/path.h"
#include "model/tfcheckpoint.h"

/* ---- Folders ---- */

/* The folder of a file or of a TensorFlow prefix, malloc'ed. */
static char *folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    if (path_is_folder(path))
        return strdup(path);
    if (!slash)
        return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

static enum bert_status open_weights(struct source *source, const char *path,
                                     const struct loader_options *options,
                                     struct bert_error *error) {
    enum bert_status status =
        checkpoint_open(&source->checkpoint, path, options->no_mmap, error);
    if (status != BERT_OK)
        return status;
    source->format = source->checkpoint.format;
    status = parts_check(&source->parts, &source->checkpoint, &source->config, options->note,
                         options->note_arg, error);
    if (status != BERT_OK)
        return status;
    source->config = source->parts.config;
    size_t lines = vocabulary_lines(source->tokenizer.vocabulary);
    if (lines > (size_t)source->config.model.vocabulary)
        return error_set(error, BERT_MODEL,
                         "%s: the vocabulary has %zu entries, the word embeddings %d rows", path,
                         lines, source->config.model.vocabulary);
    return BERT_OK;
}

static enum bert_status open_folder(struct source *source, const char *path,
                                    const struct loader_options *options,
                                    struct bert_error *error) {
    if (!path_exists(path) && !tfcheckpoint_is(path))
        return error_set(error, BERT_MODEL, "%s: no such file or folder", path);
    char *folder = folder_of(path);
    if (!folder)
        return error_memory(error);
    enum bert_status status = config_read(&source->config, folder, error);
    if (status == BERT_OK)
        status = tokenizer_files_read(&source->tokenizer, folder,
                                      source->config.model.vocabulary, options, error);
    free(folder);
    if (status == BERT_OK && !options->tokenizer_only)
        status = open_weights(source, path, options, error);
    return status;
}

/* ---- model.bert ---- */

static enum bert_status open_bertfile(struct source *source, const char *path,
                                      const struct loader_options *options,
                                      struct bert_error *error) {
    struct bertfile *bertfile = &source->bertfile;
    enum bert_status status = checkpoint_refuse_pointer(&source->mapping, path, error);
    if (status == BERT_OK)
        status =
            bertfile_open(bertfile, source->mapping.data, source->mapping.size, path, error);
    if (status != BERT_OK)
        return status;
    source->config = bertfile->config;
    source->tokenizer.settings = bertfile->tokenizer;
    source->tokenizer.vocabulary = bertfile->vocabulary;
    source->format = "model.bert";
    if (options->tokenizer_only || bertfile->precision == BERT_INT8)
        return BERT_OK;
    return parts_check(&source->parts, &bertfile->checkpoint, &source->config, NULL, NULL,
                       error);
}

/* Whether path is a model.bert, which is mapped then; a file called so must be one. */
static enum bert_status map_bertfile(struct source *source, const char *path, bool no_mmap,
                                     bool *is, struct bert_error *error) {
    *is = false;
    size_t length = strlen(path);
    if (path_is_folder(path) || !path_exists(path))
        return BERT_OK;
    enum bert_status status = mapping_open(&source->mapping, path, no_mmap, error);
    if (status != BERT_OK)
        return status;
    *is = bertfile_is(source->mapping.data, source->mapping.size) ||
          (length > 5 && strcmp(path + length - 5, ".bert") == 0);
    if (!*is)
        mapping_close(&source->mapping);
    return BERT_OK;
}

enum bert_status source_open(struct source *source, const char *path,
                             const struct loader_options *options,
                             struct bert_error *error) {
    bool is_bertfile;
    *source = (struct source){0};
    enum bert_status status =
        map_bertfile(source, path, options->no_mmap, &is_bertfile, error);
    if (status != BERT_OK)
        return status;
    return is_bertfile ? open_bertfile(source, path, options, error)
                       : open_folder(source, path, options, error);
}

void source_release(struct source *source) {
    bertfile_release(&source->bertfile);
    checkpoint_close(&source->checkpoint);
    mapping_close(&source->mapping);
    buffer_release(&source->tokenizer.owned);
}
