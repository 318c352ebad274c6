/* SPDX-License-Identifier: MIT
 *
 * resume.c: the state as one JSON object. Numbers of 64 bits are written as text, because
 * JSON's are signed. */
#include "service/resume.h"

#include "io/json.h"
#include "io/sink.h"
#include "io/source.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

enum { VERSION = 1, LARGEST = 16 * 1024 * 1024 };

static char *join(const char *path, const char *ending) {
    struct buffer text = {0};
    buffer_add_text(&text, path);
    buffer_add_text(&text, ending);
    return buffer_text(&text);
}

char *resume_path(const char *part) {
    return join(part, ".state");
}

void resume_release(struct resume *resume) {
    free(resume->options);
    free(resume->device);
    *resume = (struct resume){0};
}

/* ---- Writing --------------------------------------------------------------------- */

static void put_number(struct buffer *out, const char *name, uint64_t value) {
    buffer_printf(out, ",\n\"%s\":\"%016" PRIx64 "\"", name, value);
}

static void put_text(struct buffer *out, const char *name, const char *text) {
    buffer_printf(out, ",\n\"%s\":", name);
    json_put_text(out, text, strlen(text));
}

enum bert_status resume_save(const struct resume *resume, const char *path,
                             struct bert_error *error) {
    struct buffer out = {0};
    buffer_printf(&out, "{\"version\":%d", VERSION);
    put_number(&out, "records", resume->records);
    put_number(&out, "failed", resume->failed);
    put_number(&out, "input", resume->input);
    put_number(&out, "output", resume->output);
    put_number(&out, "hash", resume->hash);
    put_number(&out, "model", resume->model);
    put_text(&out, "device", resume->device);
    put_text(&out, "encoding", encoding_name(resume->encoding));
    put_text(&out, "options", resume->options);
    buffer_add_text(&out, "}\n");
    struct sink *sink;
    enum bert_status status =
        out.failed ? error_memory(error) : sink_open(&sink, path, false, error);
    if (!status) {
        sink_write(sink, out.data, out.size);
        status = sink_close(sink, SINK_COMMIT, error);
    }
    buffer_release(&out);
    return status;
}

/* ---- Reading --------------------------------------------------------------------- */

static bool get_number(const struct json *state, const char *name, uint64_t *value) {
    struct span text;
    if (!json_get_text(json_member(state, name), &text) || text.size != 16 ||
        strspn(text.data, "0123456789abcdef") != 16)
        return false;
    *value = strtoull(text.data, NULL, 16);
    return true;
}

static bool get_text(const struct json *state, const char *name, char **value) {
    struct span text;
    if (!json_get_text(json_member(state, name), &text))
        return false;
    *value = strdup(text.data);
    return *value != NULL;
}

static bool read_state(struct resume *resume, const struct json *state) {
    int64_t version;
    struct span encoding;
    return json_get_whole(json_member(state, "version"), &version) &&
           version == VERSION && get_number(state, "records", &resume->records) &&
           get_number(state, "failed", &resume->failed) &&
           get_number(state, "input", &resume->input) &&
           get_number(state, "output", &resume->output) &&
           get_number(state, "hash", &resume->hash) &&
           get_number(state, "model", &resume->model) &&
           get_text(state, "device", &resume->device) &&
           get_text(state, "options", &resume->options) &&
           json_get_text(json_member(state, "encoding"), &encoding) &&
           encoding_parse(encoding.data, &resume->encoding);
}

enum bert_status resume_load(struct resume *resume, const char *path, bool *found,
                             struct bert_error *error) {
    *resume = (struct resume){0};
    *found = access(path, F_OK) == 0;
    if (!*found)
        return errno == ENOENT
                   ? BERT_OK
                   : error_set(error, BERT_IO, "%s: %s", path, strerror(errno));
    struct source_options options = {.encoding = ENCODING_UTF8};
    struct source *source;
    struct span bytes;
    struct json *state = NULL;
    enum bert_status status = source_open(&source, path, &options, error);
    if (status)
        return status;
    status = source_window(source, LARGEST, &bytes, error);
    if (!status && (json_parse(&state, bytes.data, bytes.size, 0, NULL) ||
                    !read_state(resume, state)))
        status = error_set(error, BERT_IO,
                           "%s: not a state that we can go on from; without --resume the "
                           "run begins anew",
                           path);
    json_free(state);
    source_close(source);
    if (status)
        resume_release(resume);
    return status;
}

enum bert_status resume_check(const struct resume *before, const struct resume *now,
                              struct bert_error *error) {
    const char *what = NULL;
    if (strcmp(before->options, now->options) != 0)
        what = "with other options";
    else if (before->model != now->model)
        what = "with another model";
    else if (strcmp(before->device, now->device) != 0)
        what = "on another kind of device";
    if (!what)
        return BERT_OK;
    return error_set(
        error, BERT_USAGE,
        "--resume: what is there was made %s; without --resume the run begins "
        "anew",
        what);
}
