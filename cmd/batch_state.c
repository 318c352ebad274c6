/* SPDX-License-Identifier: MIT
 *
 * batch_state.c: resume.h for bert-batch. */
#include "batch_state.h"

#include "base/mapping.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void put(struct buffer *out, const char *name, const char *text) {
    if (text)
        buffer_printf(out, " %s=%s", name, text);
}

/* A file's contents count, not its name. */
static void put_file(struct buffer *out, const char *name, const char *path) {
    struct mapping file;
    if (!path || mapping_open(&file, path, true, NULL))
        return;
    buffer_printf(out, " %s=%016llx", name,
                  (unsigned long long)hash_bytes(HASH_SEED, file.data, file.size));
    mapping_close(&file);
}

static void put_fill(struct buffer *out, const struct fill_args *fill) {
    buffer_printf(out, " top=%d han=%d no-punct=%d whole=%d joint=%d threshold=%.17g",
                  fill->k, fill->han, fill->no_punct, fill->whole, fill->joint,
                  fill->threshold);
    for (size_t i = 0; i < fill->mask_tokens.count; i++)
        put(out, "mask-token", fill->mask_tokens.items[i]);
    put(out, "words", fill->words);
    put_file(out, "words-file", fill->words_file);
    buffer_printf(out, " baseline=%d", fill->want_baseline);
    put(out, "baseline", fill->baseline);
    buffer_printf(out, " span=%d-%d rank=%d", fill->span_min, fill->span_max, fill->rank);
    put(out, "context", fill->context);
    put(out, "context-column", fill->context_column);
}

/* All that the output's bytes depend on, but for the model and the input. */
static char *describe(const struct batch *batch, const struct sheet *sheet) {
    const struct batch_args *args = batch->args;
    struct buffer out = {0};
    buffer_printf(&out, "from=%s to=%s delimiter=%d no-header=%d bom=%d crlf=%d guard=%d",
                  record_format_name(sheet->from), record_format_name(sheet->look.to),
                  args->delimiter, args->no_header, args->bom, args->crlf, args->guard);
    put(&out, "template", args->text_template);
    put(&out, "column", batch->records->column);
    buffer_printf(&out, " column-index=%d replace-invalid=%d",
                  batch->records->column_index, batch->records->replace_invalid);
    put(&out, "select", args->select);
    put(&out, "prefix", args->prefix);
    put_fill(&out, batch->fill);
    return buffer_text(&out);
}

enum bert_status batch_state_open(struct batch_state *state, const struct batch *batch,
                                  const struct bert_model *model,
                                  const struct sheet *sheet, struct bert_error *error) {
    char *part = sink_part_of(batch->common->output);
    state->interval = batch->args->checkpoint;
    if (!part)
        return batch->args->resume
                   ? error_set(error, BERT_USAGE, "--resume: %s is no regular file",
                               batch->common->output)
                   : BERT_OK;
    const char *words = batch->fill->words_file;
    struct stat about;
    if (batch->args->resume && words &&
        (stat(words, &about) < 0 || !S_ISREG(about.st_mode))) {
        free(part);
        return error_set(error, BERT_USAGE, "--resume: %s is no regular file", words);
    }
    struct bert_info info;
    bert_model_info(model, &info);
    state->path = resume_path(part);
    state->latest.model = info.identity;
    state->latest.device = strndup(info.device, strcspn(info.device, ":"));
    state->latest.options = describe(batch, sheet);
    bool there = access(part, F_OK) == 0;
    free(part);
    if (!state->path || !state->latest.device || !state->latest.options)
        return error_memory(error);
    if (!batch->args->resume || !there)
        return BERT_OK;
    enum bert_status status =
        resume_load(&state->first, state->path, &state->resuming, error);
    state->saved = state->resuming;
    return status || !state->resuming
               ? status
               : resume_check(&state->first, &state->latest, error);
}

void batch_state_release(struct batch_state *state) {
    free(state->path);
    resume_release(&state->first);
    resume_release(&state->latest);
}

enum bert_status batch_state_check(const struct batch_state *state,
                                   const struct record *last, struct bert_error *error) {
    const struct resume *first = &state->first;
    if (last->number == first->records && last->end == first->input &&
        last->hash == first->hash)
        return BERT_OK;
    return error_set(error, BERT_USAGE,
                     "--resume: the input up to record %llu is not what it was; without "
                     "--resume the run begins anew",
                     (unsigned long long)first->records);
}

enum bert_status batch_state_save(struct batch_state *state, struct sink *sink,
                                  struct bert_error *error) {
    if (!state->path || !state->known)
        return BERT_OK;
    enum bert_status status = sink_sync(sink, error);
    if (!status)
        status = resume_save(&state->latest, state->path, error);
    state->saved |= !status;
    return status;
}

enum bert_status batch_state_written(struct batch_state *state,
                                     const struct job_state *job,
                                     const struct record *last, struct sink *sink,
                                     double now, struct bert_error *error) {
    /* A last row without a line end may grow when more is appended to the input. */
    if (!state->path || last->terminator.size == 0)
        return BERT_OK;
    struct resume *latest = &state->latest;
    latest->records = state->first.records + job->records;
    latest->failed = state->first.failed + job->failed;
    latest->input = last->end;
    latest->hash = last->hash;
    latest->encoding = last->encoding;
    latest->output = sink_offset(sink);
    state->known = true;
    if (now - state->when < state->interval)
        return BERT_OK;
    state->when = now;
    return batch_state_save(state, sink, error);
}

void batch_state_remove(struct batch_state *state) {
    if (state->path)
        unlink(state->path);
}
