/* SPDX-License-Identifier: MIT
 *
 * origin.c: tells a model.bert from a folder, a file in one, or a TensorFlow prefix. */
#include "model/origin.h"

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

static enum bert_status open_weights(struct origin *origin, const char *path,
                                     const struct loader_options *options,
                                     struct bert_error *error) {
    enum bert_status status =
        checkpoint_open(&origin->checkpoint, path, options->no_mmap, error);
    if (status != BERT_OK)
        return status;
    origin->format = origin->checkpoint.format;
    status = parts_check(&origin->parts, &origin->checkpoint, &origin->config,
                         options->note, options->note_arg, error);
    if (status != BERT_OK)
        return status;
    origin->config = origin->parts.config;
    size_t lines = vocabulary_lines(origin->tokenizer.vocabulary);
    if (lines > (size_t)origin->config.model.vocabulary)
        return error_set(
            error, BERT_MODEL,
            "%s: the vocabulary has %zu entries, the word embeddings %d rows", path,
            lines, origin->config.model.vocabulary);
    return BERT_OK;
}

static enum bert_status open_folder(struct origin *origin, const char *path,
                                    const struct loader_options *options,
                                    struct bert_error *error) {
    if (!path_exists(path) && !tfcheckpoint_is(path))
        return error_set(error, BERT_MODEL, "%s: no such file or folder", path);
    char *folder = folder_of(path);
    if (!folder)
        return error_memory(error);
    enum bert_status status = config_read(&origin->config, folder, path, error);
    if (status == BERT_OK)
        status = tokenizer_files_read(&origin->tokenizer, folder,
                                      origin->config.model.vocabulary, options, error);
    free(folder);
    if (status == BERT_OK && !options->tokenizer_only)
        status = open_weights(origin, path, options, error);
    return status;
}

/* ---- model.bert ---- */

static enum bert_status open_bertfile(struct origin *origin, const char *path,
                                      const struct loader_options *options,
                                      struct bert_error *error) {
    struct bertfile *bertfile = &origin->bertfile;
    enum bert_status status = checkpoint_refuse_pointer(&origin->mapping, path, error);
    if (status == BERT_OK)
        status = bertfile_open(bertfile, origin->mapping.data, origin->mapping.size, path,
                               error);
    if (status != BERT_OK)
        return status;
    origin->config = bertfile->config;
    origin->tokenizer.settings = bertfile->tokenizer;
    origin->tokenizer.vocabulary = bertfile->vocabulary;
    origin->format = "model.bert";
    if (options->tokenizer_only || bertfile->precision == BERT_INT8)
        return BERT_OK;
    return parts_check(&origin->parts, &bertfile->checkpoint, &origin->config, NULL, NULL,
                       error);
}

/* Whether path is a model.bert, which is mapped then; a file called so must be one. */
static enum bert_status map_bertfile(struct origin *origin, const char *path,
                                     bool no_mmap, bool *is, struct bert_error *error) {
    *is = false;
    size_t length = strlen(path);
    if (path_is_folder(path) || !path_exists(path))
        return BERT_OK;
    enum bert_status status = mapping_open(&origin->mapping, path, no_mmap, error);
    if (status != BERT_OK)
        return status;
    *is = bertfile_is(origin->mapping.data, origin->mapping.size) ||
          (length > 5 && strcmp(path + length - 5, ".bert") == 0);
    if (!*is)
        mapping_close(&origin->mapping);
    return BERT_OK;
}

enum bert_status origin_open(struct origin *origin, const char *path,
                             const struct loader_options *options,
                             struct bert_error *error) {
    bool is_bertfile;
    *origin = (struct origin){0};
    enum bert_status status =
        map_bertfile(origin, path, options->no_mmap, &is_bertfile, error);
    if (status != BERT_OK)
        return status;
    return is_bertfile ? open_bertfile(origin, path, options, error)
                       : open_folder(origin, path, options, error);
}

void origin_release(struct origin *origin) {
    bertfile_release(&origin->bertfile);
    checkpoint_close(&origin->checkpoint);
    mapping_close(&origin->mapping);
    buffer_release(&origin->tokenizer.owned);
}
