/* SPDX-License-Identifier: MIT
 *
 * loader.c: makes the weights of a source ready for the kernels: in place where they are
 * so already, converted in memory where another precision is asked. */
#include "model/loader.h"

#include "base/cpu.h"
#include "model/origin.h"

struct model_file {
    struct origin origin;
    struct bertfile converted; /* in the keeper's memory, when quantised at opening */
    struct keeper keeper;
    struct weights weights;
    bool has_weights;
    char *path;
    uint64_t identity;
};

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
static enum bert_status quantise(struct model_file *file, struct bert_error *error) {
    struct bertfile_input input = {.parts = &file->origin.parts,
                                   .tokenizer = &file->origin.tokenizer.settings,
                                   .vocabulary = file->origin.tokenizer.vocabulary,
                                   .precision = BERT_INT8};
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
        status = bertfile_open(&file->converted, image, plan.total, file->path, error);
    if (status == BERT_OK)
        status = bertfile_weights(&file->converted, &file->weights, &file->keeper, error);
    bertfile_plan_release(&plan);
    pool_free(input.pool);
    return status;
}

static enum bert_status make_weights(struct model_file *file,
                                     enum bert_precision precision,
                                     struct bert_error *error) {
    const struct bertfile *bertfile = &file->origin.bertfile;
    enum bert_precision own =
        origin_is_bertfile(&file->origin) ? bertfile->precision : BERT_F32;
    if (precision == BERT_PRECISION_DEFAULT)
        precision = own;
    if (own == BERT_INT8 && precision != BERT_INT8)
        return error_set(error, BERT_MODEL,
                         "%s: holds int8 weights; convert its source again for %s",
                         file->path, precision_name(precision));
    file->has_weights = true;
    if (own == BERT_INT8)
        return bertfile_weights(bertfile, &file->weights, &file->keeper, error);
    if (precision == BERT_INT8)
        return quantise(file, error);
    return assemble(&file->weights, &file->keeper, &file->origin.parts, precision, error);
}

/* ---- The interface ---- */

static uint64_t find_identity(const struct model_file *file) {
    const struct origin *origin = &file->origin;
    uint64_t hash = origin->bertfile.identity;
    if (!origin_is_bertfile(origin)) {
        struct buffer text = {0};
        config_write(&origin->config, &text);
        tokenizer_settings_write(&origin->tokenizer.settings, &text);
        hash = file->has_weights ? checkpoint_identity(&origin->checkpoint) : HASH_SEED;
        if (text.data)
            hash = hash_bytes(hash, text.data, text.size);
        hash = hash_bytes(hash, origin->tokenizer.vocabulary.data,
                          origin->tokenizer.vocabulary.size);
        buffer_release(&text);
    }
    return hash_bytes(hash, &file->weights.precision, sizeof file->weights.precision);
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
    enum bert_status status = origin_open(&file->origin, path, options, error);
    if (status == BERT_OK && !options->tokenizer_only)
        status = make_weights(file, options->precision, error);
    if (status != BERT_OK) {
        loader_close(file);
        return status;
    }
    file->identity = find_identity(file);
    *result = file;
    return BERT_OK;
}

void loader_close(struct model_file *file) {
    if (!file)
        return;
    bertfile_release(&file->converted);
    origin_release(&file->origin);
    keeper_release(&file->keeper);
    free(file->path);
    free(file);
}

const struct weights *loader_weights(const struct model_file *file) {
    return file->has_weights ? &file->weights : NULL;
}

const struct tokenizer_settings *loader_tokenizer(const struct model_file *file) {
    return &file->origin.tokenizer.settings;
}

struct span loader_vocabulary(const struct model_file *file) {
    return file->origin.tokenizer.vocabulary;
}

void loader_facts(const struct model_file *file, struct loader_facts *facts) {
    const struct bertfile *bertfile = &file->origin.bertfile;
    bool own = origin_is_bertfile(&file->origin);
    *facts = (struct loader_facts){.format = file->origin.format,
                                   .source = own ? bertfile->source : file->path,
                                   .license = own ? bertfile->license : NULL,
                                   .identity = file->identity};
}
