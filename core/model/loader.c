/* SPDX-License-Identifier: MIT
 *
 * loader.c: tells a model.bert from a folder, and joins the readers into one model. */
#include "model/loader.h"

#include "base/cpu.h"
#include "base/path.h"
#include "model/bertfile.h"
#include "model/tfcheckpoint.h"

struct model_file {
    struct mapping mapping;       /* of a model.bert */
    struct bertfile bertfile;     /* in it */
    struct checkpoint checkpoint; /* of a folder */
    struct bertfile converted;    /* in the keeper's memory, when quantised at opening */
    struct tokenizer_files tokenizer;
    struct config config;
    struct keeper keeper;
    struct weights weights;
    bool has_weights;
    const char *format, *source, *license;
    char *path;
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

/* ---- Conversion in memory ---- */

static enum bert_status write_memory(void *arg, uint64_t offset, const void *bytes,
                                     size_t size, struct bert_error *error) {
    memcpy((char *)arg + offset, bytes, size);
    return BERT_OK;
}

static enum bert_status write_image(struct bertfile_plan *plan, void *image,
                                    struct bert_error *error) {
    const struct bertfile_output output = {write_memory, image};
    enum bert_status status = bertfile_write_tensors(plan, &output, NULL, NULL, error);
    return status == BERT_OK ? bertfile_write_header(plan, NULL, &output, error) : status;
}

/* Quantises as bert-convert does, and opens the result. */
static enum bert_status convert(struct model_file *file, const struct parts *parts,
                                enum bert_precision precision, const char *path,
                                struct bert_error *error) {
    struct bertfile_input input = {.parts = parts,
                                   .tokenizer = &file->tokenizer.settings,
                                   .vocabulary = file->tokenizer.vocabulary,
                                   .precision = precision,
                                   .source = path};
    struct bertfile_plan plan = {0};
    enum bert_status status = pool_new(&input.pool, cpu_usable_cores(), error);
    if (status != BERT_OK)
        return status;
    void *image = NULL;
    status = bertfile_plan(&plan, &input, error);
    if (status == BERT_OK && !(image = keeper_alloc(&file->keeper, plan.total)))
        status = error_memory(error);
    if (status == BERT_OK)
        status = write_image(&plan, image, error);
    if (status == BERT_OK)
        status = bertfile_open(&file->converted, image, plan.total, path, error);
    if (status == BERT_OK)
        status = bertfile_weights(&file->converted, &file->weights, &file->keeper, error);
    bertfile_plan_release(&plan);
    pool_free(input.pool);
    return status;
}

/* ---- Folders ---- */

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
    file->has_weights = true;
    if (options->precision == BERT_INT8)
        return convert(file, &parts, BERT_INT8, path, error);
    enum bert_precision precision =
        options->precision == BERT_PRECISION_DEFAULT ? BERT_F32 : options->precision;
    return assemble(&file->weights, &file->keeper, &parts, precision, error);
}

static enum bert_status open_folder(struct model_file *file, const char *path,
                                    const struct loader_options *options,
                                    struct bert_error *error) {
    if (!path_exists(path) && !tfcheckpoint_is(path))
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

/* ---- model.bert ---- */

/* A model.bert of floats is a source like any other when another precision is asked. */
static enum bert_status change_precision(struct model_file *file, const char *path,
                                         enum bert_precision precision,
                                         struct bert_error *error) {
    if (file->bertfile.precision == BERT_INT8)
        return error_set(error, BERT_MODEL,
                         "%s: holds int8 weights; convert its source again for %s", path,
                         precision_name(precision));
    struct parts parts;
    enum bert_status status = parts_check(&parts, &file->bertfile.checkpoint, &file->config,
                                          NULL, NULL, error);
    if (status != BERT_OK)
        return status;
    return precision == BERT_INT8
               ? convert(file, &parts, precision, path, error)
               : assemble(&file->weights, &file->keeper, &parts, precision, error);
}

static enum bert_status open_bertfile(struct model_file *file, const char *path,
                                      const struct loader_options *options,
                                      struct bert_error *error) {
    struct bertfile *bertfile = &file->bertfile;
    enum bert_status status = checkpoint_refuse_pointer(&file->mapping, path, error);
    if (status == BERT_OK)
        status = bertfile_open(bertfile, file->mapping.data, file->mapping.size, path, error);
    if (status != BERT_OK)
        return status;
    file->config = bertfile->config;
    file->tokenizer.settings = bertfile->tokenizer;
    file->tokenizer.vocabulary = bertfile->vocabulary;
    file->identity = bertfile->identity;
    file->source = bertfile->source;
    file->license = bertfile->license;
    file->format = "model.bert";
    if (options->tokenizer_only)
        return BERT_OK;
    file->has_weights = true;
    enum bert_precision precision = options->precision;
    if (precision == BERT_PRECISION_DEFAULT || precision == bertfile->precision)
        return bertfile_weights(bertfile, &file->weights, &file->keeper, error);
    return change_precision(file, path, precision, error);
}

/* Whether path is a model.bert, which is mapped then; a file called so must be one. */
static enum bert_status map_bertfile(struct model_file *file, const char *path, bool no_mmap,
                                     bool *is, struct bert_error *error) {
    *is = false;
    size_t length = strlen(path);
    if (path_is_folder(path) || !path_exists(path))
        return BERT_OK;
    enum bert_status status = mapping_open(&file->mapping, path, no_mmap, error);
    if (status != BERT_OK)
        return status;
    *is = bertfile_is(file->mapping.data, file->mapping.size) ||
          (length > 5 && strcmp(path + length - 5, ".bert") == 0);
    if (!*is)
        mapping_close(&file->mapping);
    return BERT_OK;
}

enum bert_status loader_open(struct model_file **result, const char *path,
                             const struct loader_options *options,
                             struct bert_error *error) {
    static const struct loader_options defaults;
    options = options ? options : &defaults;
    *result = NULL;
    struct model_file *file = calloc(1, sizeof *file);
    if (!file || !(file->path = strdup(path))) {
        free(file);
        return error_memory(error);
    }
    file->source = file->path;
    bool is_bertfile;
    enum bert_status status =
        map_bertfile(file, path, options->no_mmap, &is_bertfile, error);
    if (status == BERT_OK)
        status = is_bertfile ? open_bertfile(file, path, options, error)
                             : open_folder(file, path, options, error);
    if (status != BERT_OK) {
        loader_close(file);
        return status;
    }
    file->identity =
        hash_bytes(file->identity, &file->weights.precision, sizeof file->weights.precision);
    *result = file;
    return BERT_OK;
}

void loader_close(struct model_file *file) {
    if (!file)
        return;
    bertfile_release(&file->converted);
    bertfile_release(&file->bertfile);
    checkpoint_close(&file->checkpoint);
    mapping_close(&file->mapping);
    keeper_release(&file->keeper);
    buffer_release(&file->tokenizer.owned);
    free(file->path);
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
    *facts = (struct loader_facts){.format = file->format,
                                   .source = file->source,
                                   .license = file->license,
                                   .identity = file->identity};
}
