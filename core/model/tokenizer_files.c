/* SPDX-License-Identifier: MIT
 *
 * tokenizer_files.c: Hugging Face spreads the tokenizer over several files that may
 * disagree; tokenizer_config.json wins, as in its BertTokenizerFast. */
#include "model/tokenizer_files.h"

#include "base/mapping.h"
#include "base/path.h"
#include "io/json.h"

enum { FILE_MAX = 256 << 20, BUILT_IN_SIZE = 21128 };

static const unsigned char built_in[] = {
#include "vocabulary_zh.h"
};

size_t vocabulary_lines(struct span vocabulary) {
    size_t lines = 0;
    const char *at = vocabulary.data, *end = at + vocabulary.size;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        at = stop ? stop + 1 : end;
        lines++;
    }
    return lines;
}

static void settings_from(struct tokenizer_settings *settings, const struct json *json) {
    *settings = (struct tokenizer_settings){true, true, true};
    json_get_bool(json_member(json, "do_lower_case"), &settings->lower_case);
    settings->strip_accents = settings->lower_case;
    json_get_bool(json_member(json, "strip_accents"), &settings->strip_accents);
    json_get_bool(json_member(json, "tokenize_chinese_chars"), &settings->split_chinese);
}

enum bert_status tokenizer_settings_parse(struct tokenizer_settings *settings,
                                          struct span text, const char *name,
                                          struct bert_error *error) {
    struct json *json;
    struct bert_error why;
    if (json_parse(&json, text.data, text.size, FILE_MAX, &why) != BERT_OK)
        return error_set(error, BERT_MODEL, "%s: %s", name, why.message);
    settings_from(settings, json);
    json_free(json);
    return BERT_OK;
}

void tokenizer_settings_write(const struct tokenizer_settings *settings,
                              struct buffer *out) {
    static const char *const truth[] = {"false", "true"};
    buffer_printf(out,
                  "{\"tokenizer_class\": \"BertTokenizer\", \"do_lower_case\": %s, "
                  "\"strip_accents\": %s, \"tokenize_chinese_chars\": %s}",
                  truth[settings->lower_case], truth[settings->strip_accents],
                  truth[settings->split_chinese]);
}

/* *json is NULL when there is no such file. */
static enum bert_status read_json(struct json **json, const char *folder,
                                  const char *name, struct bert_error *error) {
    *json = NULL;
    char *path = path_join(folder, name);
    if (!path)
        return error_memory(error);
    enum bert_status status = BERT_OK;
    if (path_exists(path)) {
        struct mapping mapping;
        struct bert_error why;
        status = mapping_open(&mapping, path, true, error);
        if (status == BERT_OK) {
            if (json_parse(json, (const char *)mapping.data, mapping.size, FILE_MAX,
                           &why) != BERT_OK)
                status = error_set(error, BERT_MODEL, "%s: %s", path, why.message);
            mapping_close(&mapping);
        }
    }
    free(path);
    return status;
}

static void note(const struct loader_options *options, const char *folder,
                 const char *line) {
    if (!options->note)
        return;
    struct bert_error text; /* escapes the path */
    error_set(&text, BERT_OK, "%s: %s", folder, line);
    options->note(options->note_arg, text.message);
}

static enum bert_status bad_entry(const char *folder, const char *why,
                                  struct bert_error *error) {
    return error_set(error, BERT_MODEL, "%s/tokenizer.json: %s", folder, why);
}

/* Entries by id, so that they can be written line by line. */
static enum bert_status place_entry(struct span *entries, size_t count, struct span name,
                                    const struct json *value, const char *folder,
                                    struct bert_error *error) {
    int64_t id;
    if (!json_get_whole(value, &id) || id < 0 || (uint64_t)id >= count)
        return bad_entry(folder, "an id of the vocabulary is out of range", error);
    if (memchr(name.data, '\n', name.size))
        return bad_entry(folder, "a token of the vocabulary holds a line end", error);
    if (entries[id].data && !span_equal(entries[id], name))
        return bad_entry(folder, "two tokens of the vocabulary have one id", error);
    entries[id] = name;
    return BERT_OK;
}

static enum bert_status fill_vocabulary(struct tokenizer_files *files,
                                        const struct json *json, struct span *entries,
                                        size_t count, const char *folder,
                                        struct bert_error *error) {
    enum bert_status status = BERT_OK;
    struct json_pair pair = {0};
    while (status == BERT_OK &&
           json_next(json_member(json_member(json, "model"), "vocab"), &pair))
        status = place_entry(entries, count, pair.name, pair.value, folder, error);
    const struct json *added = json_member(json, "added_tokens");
    for (size_t i = 0; status == BERT_OK && i < json_count(added); i++) {
        struct span content;
        const struct json *item = json_item(added, i);
        if (json_get_text(json_member(item, "content"), &content))
            status = place_entry(entries, count, content, json_member(item, "id"), folder,
                                 error);
    }
    while (count && !entries[count - 1].data)
        count--;
    for (size_t i = 0; status == BERT_OK && i < count; i++) {
        if (entries[i].data)
            buffer_add(&files->owned, entries[i].data, entries[i].size);
        buffer_add_byte(&files->owned, '\n');
    }
    if (status == BERT_OK && files->owned.failed)
        return error_memory(error);
    return status;
}

static enum bert_status vocabulary_from_json(struct tokenizer_files *files,
                                             const struct json *json, const char *folder,
                                             struct bert_error *error) {
    const struct json *model = json_member(json, "model");
    struct span type;
    if (json_get_text(json_member(model, "type"), &type) &&
        !span_equal(type, span_of("WordPiece")))
        return bad_entry(folder, "its model is not WordPiece", error);
    size_t count = json_count(json_member(model, "vocab"));
    count += json_count(json_member(json, "added_tokens"));
    struct span *entries = calloc(count + 1, sizeof *entries);
    if (!entries)
        return error_memory(error);
    enum bert_status status = fill_vocabulary(files, json, entries, count, folder, error);
    free(entries);
    files->vocabulary = (struct span){files->owned.data, files->owned.size};
    return status;
}

static enum bert_status read_vocabulary(struct tokenizer_files *files,
                                        const struct json *fast, const char *folder,
                                        int vocabulary_size, bool cased_by_file,
                                        const struct loader_options *options,
                                        struct bert_error *error) {
    char *path = path_join(folder, "vocab.txt");
    if (!path)
        return error_memory(error);
    bool plain = path_exists(path);
    struct mapping mapping;
    enum bert_status status = plain ? mapping_open(&mapping, path, true, error) : BERT_OK;
    free(path);
    if (status != BERT_OK)
        return status;
    if (plain) {
        buffer_add(&files->owned, mapping.data, mapping.size);
        mapping_close(&mapping);
        files->vocabulary = (struct span){files->owned.data, files->owned.size};
        return files->owned.failed ? error_memory(error) : BERT_OK;
    }
    if (json_count(json_member(json_member(fast, "model"), "vocab")))
        return vocabulary_from_json(files, fast, folder, error);
    if (vocabulary_size != BUILT_IN_SIZE)
        return error_set(error, BERT_MODEL,
                         "%s: no vocab.txt or tokenizer.json in this folder", folder);
    files->vocabulary = (struct span){(const char *)built_in, sizeof built_in};
    if (!cased_by_file)
        files->settings = (struct tokenizer_settings){false, false, true};
    note(options, folder,
         "no vocabulary in this folder: that of bert-base-chinese is used");
    return BERT_OK;
}

enum bert_status tokenizer_files_read(struct tokenizer_files *files, const char *folder,
                                      int vocabulary_size,
                                      const struct loader_options *options,
                                      struct bert_error *error) {
    *files = (struct tokenizer_files){0};
    struct json *slow = NULL, *fast = NULL;
    enum bert_status status = read_json(&slow, folder, "tokenizer_config.json", error);
    if (status == BERT_OK)
        status = read_json(&fast, folder, "tokenizer.json", error);
    if (status == BERT_OK) {
        settings_from(&files->settings, slow);
        bool lower = files->settings.lower_case;
        json_get_bool(json_member(json_member(fast, "normalizer"), "lowercase"), &lower);
        if (lower != files->settings.lower_case)
            note(options, folder,
                 lower
                     ? "tokenizer.json says lowercase, but tokenizer_config.json (or its "
                       "default) decides: case kept"
                     : "tokenizer.json keeps case, but tokenizer_config.json (or its "
                       "default) decides: lower case");
        bool said = json_get_bool(json_member(slow, "do_lower_case"), &lower);
        status =
            read_vocabulary(files, fast, folder, vocabulary_size, said, options, error);
    }
    json_free(slow);
    json_free(fast);
    if (status != BERT_OK)
        buffer_release(&files->owned);
    return status;
}
