/* SPDX-License-Identifier: MIT
 *
 * convert.c: plans the file, writes it piece by piece under a temporary name, and hashes
 * the source meanwhile. */
#include "service/convert.h"

#include "base/clock.h"
#include "base/mapping.h"
#include "base/path.h"
#include "model/checksum.h"
#include "model/origin.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- The output file ---- */

struct target {
    const struct convert_options *options;
    const char *path;
    char *temporary;
    int file;
};

static enum bert_status io_error(const char *path, struct bert_error *error) {
    return error_set(error, BERT_IO, "%s: %s", path, strerror(errno));
}

/* What exists under that name must be a file that may be replaced. */
static enum bert_status check_target(const char *path, struct bert_error *error) {
    struct stat stat_;
    if (strcmp(path, "-") == 0)
        return error_set(error, BERT_USAGE,
                         "a model cannot go to standard output; name a file with -o");
    int file = open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    bool terminal = file >= 0 && isatty(file);
    if (file >= 0)
        close(file);
    if (terminal)
        return error_set(error, BERT_USAGE, "%s: is a terminal", path);
    if (stat(path, &stat_) == 0 && !S_ISREG(stat_.st_mode))
        return error_set(error, BERT_USAGE, "%s: %s", path,
                         S_ISDIR(stat_.st_mode) ? "is a folder" : "not a regular file");
    return BERT_OK;
}

static enum bert_status target_open(struct target *target, const char *path,
                                    const struct convert_options *options,
                                    struct bert_error *error) {
    *target = (struct target){.options = options, .path = path, .file = -1};
    enum bert_status status = check_target(path, error);
    if (status != BERT_OK)
        return status;
    struct buffer name = {0};
    buffer_printf(&name, "%s.%ld.part", path, (long)getpid());
    target->temporary = buffer_text(&name);
    if (!target->temporary)
        return error_memory(error);
    target->file = open(target->temporary, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    return target->file < 0 ? io_error(target->path, error) : BERT_OK;
}

static enum bert_status target_write(void *arg, uint64_t offset, const void *bytes,
                                     size_t size, struct bert_error *error) {
    const struct target *target = arg;
    const struct convert_options *options = target->options;
    for (size_t done = 0; done < size;) {
        if (options->stopped && options->stopped(options->arg))
            return error_set(error, BERT_IO, "%s: stopped", target->path);
        ssize_t wrote = pwrite(target->file, (const char *)bytes + done, size - done,
                               (off_t)(offset + done));
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return io_error(target->path, error);
        done += (size_t)wrote;
    }
    return BERT_OK;
}

/* Renames when status is BERT_OK, else removes. */
static enum bert_status target_close(struct target *target, enum bert_status status,
                                     struct bert_error *error) {
    if (target->file >= 0) {
        if (status == BERT_OK && fsync(target->file) != 0)
            status = io_error(target->path, error);
        if (close(target->file) != 0 && status == BERT_OK)
            status = io_error(target->path, error);
        if (status == BERT_OK && (rename(target->temporary, target->path) != 0 ||
                                  path_sync_folder(target->path) != 0))
            status = io_error(target->path, error);
        if (status != BERT_OK)
            unlink(target->temporary);
    }
    free(target->temporary);
    return status;
}

static enum bert_status write_small(const struct convert_options *options,
                                    const char *folder, const char *name,
                                    struct span bytes, struct bert_error *error) {
    char *path = path_join(folder, name);
    if (!path)
        return error_memory(error);
    struct target target;
    enum bert_status status = target_open(&target, path, options, error);
    if (status == BERT_OK)
        status = target_write(&target, 0, bytes.data, bytes.size, error);
    status = target_close(&target, status, error);
    free(path);
    return status;
}

/* ---- Hashing ---- */

struct hashing {
    const struct mapping *mappings;
    size_t count;
    char text[SHA256_TEXT];
    pthread_t thread;
    bool started;
};

static void *hash_mappings(void *arg) {
    struct hashing *hashing = arg;
    struct sha256 sha;
    sha256_init(&sha);
    for (size_t i = 0; i < hashing->count; i++)
        sha256_add(&sha, hashing->mappings[i].data, hashing->mappings[i].size);
    sha256_text(&sha, hashing->text);
    return NULL;
}

/* Beside the conversion, when there is more than one core for it. */
static void hashing_start(struct hashing *hashing, int jobs) {
    hashing->started =
        jobs > 1 && pthread_create(&hashing->thread, NULL, hash_mappings, hashing) == 0;
}

static void hashing_end(struct hashing *hashing) {
    if (hashing->started)
        pthread_join(hashing->thread, NULL);
    else
        hash_mappings(hashing);
    hashing->started = false;
}

/* ---- Conversion ---- */

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static void count_source(const struct origin *origin, struct convert_file_facts *facts) {
    const struct checkpoint *checkpoint =
        origin_is_bertfile(origin) ? &origin->bertfile.checkpoint : &origin->checkpoint;
    facts->tensors = checkpoint->index_count;
    for (size_t i = 0; i < checkpoint->index_count; i++) {
        size_t elements = 0;
        tensor_elements(checkpoint->index[i], &elements);
        facts->parameters += elements;
    }
    facts->bytes = origin->mapping.size;
    for (size_t i = 0; i < checkpoint->mapping_count; i++)
        facts->bytes += checkpoint->mappings[i].size;
}

static void count_result(const struct bertfile_plan *plan,
                         struct convert_file_facts *facts) {
    facts->bytes = plan->total;
    for (size_t i = 0; i < plan->count; i++)
        facts->tensors += strncmp(plan->items[i].name, "pad.", 4) != 0;
}

struct conversion {
    const struct convert_options *options;
    struct origin origin;
    struct bertfile_input input;
    struct hashing hashing;
    struct convert_report *report;
};

static enum bert_status write_file(struct conversion *conversion, const char *path,
                                   struct bert_error *error) {
    struct bertfile_plan plan = {0};
    struct target target;
    enum bert_status status = target_open(&target, path, conversion->options, error);
    const struct bertfile_output output = {target_write, &target};
    if (status == BERT_OK)
        status = bertfile_plan(&plan, &conversion->input, error);
    if (status == BERT_OK)
        status = bertfile_write_tensors(&plan, &output, conversion->options->progress,
                                        conversion->options->arg, error);
    hashing_end(&conversion->hashing);
    if (status == BERT_OK)
        status = bertfile_write_header(&plan, conversion->hashing.text, &output, error);
    status = target_close(&target, status, error);
    if (status == BERT_OK)
        count_result(&plan, &conversion->report->result);
    bertfile_plan_release(&plan);
    return status;
}

/* The weights come last: a folder without them is no model to anybody. */
static enum bert_status write_folder(struct conversion *conversion, const char *folder,
                                     struct bert_error *error) {
    struct buffer config = {0}, tokenizer = {0};
    config_write(&conversion->input.parts->config, &config);
    tokenizer_settings_write(conversion->input.tokenizer, &tokenizer);
    enum bert_status status =
        config.failed || tokenizer.failed ? error_memory(error) : BERT_OK;
    if (status == BERT_OK && mkdir(folder, 0777) != 0 && errno != EEXIST)
        status = io_error(folder, error);
    if (status == BERT_OK)
        status = write_small(conversion->options, folder, "config.json",
                             (struct span){config.data, config.size}, error);
    if (status == BERT_OK)
        status = write_small(conversion->options, folder, "tokenizer_config.json",
                             (struct span){tokenizer.data, tokenizer.size}, error);
    if (status == BERT_OK)
        status = write_small(conversion->options, folder, "vocab.txt",
                             conversion->input.vocabulary, error);
    char *path = path_join(folder, "model.safetensors");
    if (status == BERT_OK)
        status = path ? write_file(conversion, path, error) : error_memory(error);
    free(path);
    buffer_release(&config);
    buffer_release(&tokenizer);
    return status;
}

static enum bert_status hash_result(const char *output, bool folder,
                                    struct convert_file_facts *facts,
                                    struct bert_error *error) {
    struct mapping mapping;
    char *path = folder ? path_join(output, "model.safetensors") : strdup(output);
    enum bert_status status =
        path ? mapping_open(&mapping, path, false, error) : error_memory(error);
    if (status == BERT_OK) {
        struct hashing hashing = {.mappings = &mapping, .count = 1};
        hashing_end(&hashing);
        memcpy(facts->sha256, hashing.text, sizeof facts->sha256);
        mapping_close(&mapping);
    }
    free(path);
    return status;
}

static enum bert_status prepare(struct conversion *conversion, const char *path,
                                struct bert_error *error) {
    const struct convert_options *options = conversion->options;
    const struct loader_options loader = {
        .no_mmap = options->no_mmap, .note = options->note, .note_arg = options->arg};
    struct origin *origin = &conversion->origin;
    enum bert_status status = origin_open(origin, path, &loader, error);
    if (status != BERT_OK)
        return status;
    if (origin->bertfile.precision == BERT_INT8)
        return error_set(error, BERT_MODEL,
                         "%s: holds int8 weights already; convert its source again",
                         path);
    enum bert_precision precision = options->precision;
    if (precision == BERT_PRECISION_DEFAULT && !options->hugging_face)
        precision = BERT_INT8;
    if (precision == BERT_INT8 && options->hugging_face)
        return error_set(error, BERT_USAGE,
                         "a Hugging Face folder holds f32 or f16, no int8");
    bool own = origin_is_bertfile(origin);
    conversion->input =
        (struct bertfile_input){.parts = &origin->parts,
                                .tokenizer = &origin->tokenizer.settings,
                                .vocabulary = origin->tokenizer.vocabulary,
                                .precision = precision,
                                .source = base_name(path),
                                .license = options->license ? options->license
                                           : own            ? origin->bertfile.license
                                                            : NULL,
                                .hugging_face = options->hugging_face};
    conversion->hashing =
        (struct hashing){.mappings = own ? &origin->mapping : origin->checkpoint.mappings,
                         .count = own ? 1 : origin->checkpoint.mapping_count};
    conversion->report->precision = precision;
    conversion->report->source_format = origin->format;
    count_source(origin, &conversion->report->source);
    return pool_new(&conversion->input.pool, options->jobs, error);
}

enum bert_status convert_run(const char *source, const char *output,
                             const struct convert_options *options,
                             struct convert_report *report, struct bert_error *error) {
    double begun = clock_seconds();
    *report = (struct convert_report){0};
    struct conversion conversion = {.options = options, .report = report};
    enum bert_status status =
        options->hugging_face ? BERT_OK : check_target(output, error);
    if (status == BERT_OK)
        status = prepare(&conversion, source, error);
    if (status == BERT_OK) {
        hashing_start(&conversion.hashing, options->jobs);
        status = options->hugging_face ? write_folder(&conversion, output, error)
                                       : write_file(&conversion, output, error);
        if (conversion.hashing.started)
            hashing_end(&conversion.hashing);
        memcpy(report->source.sha256, conversion.hashing.text,
               sizeof report->source.sha256);
        report->result.parameters = report->source.parameters;
    }
    if (status == BERT_OK)
        status = hash_result(output, options->hugging_face, &report->result, error);
    pool_free(conversion.input.pool);
    origin_release(&conversion.origin);
    report->seconds = clock_seconds() - begun;
    return status;
}
