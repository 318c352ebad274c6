/* SPDX-License-Identifier: MIT
 *
 * ask.c: unknown members are ignored, as the published servers do; known ones of a wrong
 * type are refused. */
#include "service/ask.h"

static enum bert_status wrong_type(const char *name, const char *wanted,
                                   const struct json *value, struct bert_error *error) {
    return error_set(error, BERT_RECORD, "\"%s\" must be %s, not %s", name, wanted,
                     json_kind_name(json_kind(value)));
}

static bool is_given(const struct json *value) {
    return json_kind(value) != JSON_KIND_NULL;
}

static enum bert_status bad_k(struct bert_error *error) {
    return error_set(error, BERT_RECORD, "\"top_k\" must be a whole number from 1 to %d",
                     ASK_MOST_K);
}

static enum bert_status read_k(const struct json *value, int *k,
                               struct bert_error *error) {
    int64_t whole;
    if (!is_given(value))
        return BERT_OK;
    if (!json_get_whole(value, &whole) || whole < 1 || whole > ASK_MOST_K)
        return bad_k(error);
    *k = (int)whole;
    return BERT_OK;
}

static enum bert_status check_controls(const char *name, struct span text,
                                       struct bert_error *error) {
    for (size_t i = 0; i < text.size; i++)
        if ((unsigned char)text.data[i] < 0x20)
            return error_set(error, BERT_RECORD, "\"%s\" holds a control character",
                             name);
    return BERT_OK;
}

static enum bert_status add_word(struct ask *ask, const char *name,
                                 const struct json *item, struct bert_error *error) {
    struct span word;
    if (!json_get_text(item, &word))
        return wrong_type(name, "a list of texts", item, error);
    if (word.size == 0)
        return error_set(error, BERT_RECORD, "\"%s\" holds an empty word", name);
    buffer_add(&ask->words, word.data, word.size);
    buffer_add_byte(&ask->words, '\n');
    return check_controls(name, word, error);
}

static enum bert_status too_many_words(const char *name, struct bert_error *error) {
    return error_set(error, BERT_RECORD, "\"%s\" must hold 1 to %d words", name,
                     ASK_MOST_WORDS);
}

size_t ask_count_words(struct span list) {
    static const char *const separators[] = {",", ";", "，", "、", "；"};
    size_t count = 1;
    for (size_t i = 0; i < list.size; i++) {
        for (size_t s = 0; s < sizeof separators / sizeof *separators; s++) {
            size_t size = strlen(separators[s]);
            count += list.size - i >= size && !memcmp(list.data + i, separators[s], size);
        }
    }
    return count;
}

static enum bert_status take_words(struct ask *ask, struct span list, const char *name,
                                   struct bert_error *error) {
    if (list.size == 0)
        return error_set(error, BERT_RECORD, "\"%s\" is empty", name);
    buffer_add(&ask->words, list.data, list.size);
    return ask_count_words(list) > ASK_MOST_WORDS ? too_many_words(name, error)
                                                  : check_controls(name, list, error);
}

/* "满意,一般" or ["满意","一般"]. */
static enum bert_status read_words(struct ask *ask, const char *name,
                                   const struct json *value, bool may_be_text,
                                   struct bert_error *error) {
    struct span text;
    if (!is_given(value))
        return BERT_OK;
    if (may_be_text && json_get_text(value, &text))
        return take_words(ask, text, name, error);
    if (json_kind(value) != JSON_KIND_LIST)
        return wrong_type(name,
                          may_be_text ? "a text or a list of texts" : "a list of texts",
                          value, error);
    size_t count = json_count(value);
    if (count == 0 || count > ASK_MOST_WORDS)
        return too_many_words(name, error);
    ask->word_lines = true;
    for (size_t i = 0; i < count; i++) {
        enum bert_status status = add_word(ask, name, json_item(value, i), error);
        if (status != BERT_OK)
            return status;
    }
    return BERT_OK;
}

static enum bert_status read_texts(struct ask *ask, const char *name,
                                   const struct json *value, bool may_be_list,
                                   struct bert_error *error) {
    bool list = may_be_list && json_kind(value) == JSON_KIND_LIST;
    size_t count = list ? json_count(value) : 1;
    if (!is_given(value))
        return error_set(error, BERT_RECORD, "\"%s\" is missing", name);
    if (count == 0 || count > ASK_MOST_TEXTS)
        return error_set(error, BERT_RECORD, "\"%s\" must hold 1 to %d texts", name,
                         ASK_MOST_TEXTS);
    ask->texts = calloc(count, sizeof *ask->texts);
    if (!ask->texts)
        return error_memory(error);
    ask->count = count;
    for (size_t i = 0; i < count; i++) {
        const struct json *item = list ? json_item(value, i) : value;
        if (!json_get_text(item, &ask->texts[i]))
            return wrong_type(name, may_be_list ? "a text or a list of texts" : "a text",
                              item, error);
    }
    return BERT_OK;
}

static enum bert_status read_predict(struct ask *ask, struct bert_error *error) {
    enum bert_status status =
        read_texts(ask, "text", json_member(ask->document, "text"), false, error);
    if (status == BERT_OK)
        status =
            read_words(ask, "words", json_member(ask->document, "words"), true, error);
    if (status == BERT_OK && ask->words.size)
        ask->k = 0;
    if (status == BERT_OK)
        status = read_k(json_member(ask->document, "top_k"), &ask->k, error);
    return status;
}

static enum bert_status read_fill_mask(struct ask *ask, struct bert_error *error) {
    const struct json *parameters = json_member(ask->document, "parameters");
    enum bert_status status =
        read_texts(ask, "inputs", json_member(ask->document, "inputs"), true, error);
    if (status != BERT_OK || !is_given(parameters))
        return status;
    if (json_kind(parameters) != JSON_KIND_OBJECT)
        return wrong_type("parameters", "an object", parameters, error);
    status = read_k(json_member(parameters, "top_k"), &ask->k, error);
    if (status == BERT_OK)
        status =
            read_words(ask, "targets", json_member(parameters, "targets"), false, error);
    ask->targets = ask->words.size > 0;
    const struct json *truncate = json_member(parameters, "truncate");
    bool cuts = true;
    if (status == BERT_OK && is_given(truncate) && !json_get_bool(truncate, &cuts))
        return wrong_type("truncate", "true or false", truncate, error);
    ask->refuse_long = !cuts;
    return status;
}

static enum bert_status read_query(struct ask *ask, const struct target *query,
                                   struct bert_error *error) {
    struct span words, k;
    ask->texts = calloc(1, sizeof *ask->texts);
    if (!ask->texts)
        return error_memory(error);
    ask->count = 1;
    if (!target_query(query, "text", &ask->texts[0]))
        return error_set(error, BERT_RECORD, "\"text\" is missing");
    if (target_query(query, "words", &words)) {
        enum bert_status status = take_words(ask, words, "words", error);
        if (status != BERT_OK)
            return status;
        ask->k = 0;
    }
    if (!target_query(query, "top_k", &k))
        return BERT_OK;
    /* A number is written as in JSON. */
    if (json_parse(&ask->document, k.data, k.size, 0, NULL) != BERT_OK)
        ask->document = NULL;
    return json_kind(ask->document) == JSON_KIND_NUMBER
               ? read_k(ask->document, &ask->k, error)
               : bad_k(error);
}

enum bert_status ask_parse(struct ask *ask, enum ask_shape shape, struct span body,
                           const struct target *query, const char **code,
                           struct bert_error *error) {
    memset(ask, 0, sizeof *ask);
    ask->k = ASK_DEFAULT_K;
    *code = "bad_request";
    if (query)
        return read_query(ask, query, error);
    static const char mark[] = "\xef\xbb\xbf"; /* of Windows, in front of a saved file */
    if (body.size >= 3 && memcmp(body.data, mark, 3) == 0)
        body = (struct span){body.data + 3, body.size - 3};
    enum bert_status status = json_parse(&ask->document, body.data, body.size, 0, error);
    if (status != BERT_OK) {
        ask->document = NULL;
        *code = "bad_json";
        return error_set(error, BERT_RECORD,
                         "the body is not valid JSON in UTF-8 (nested "
                         "at most %d deep, no member twice)",
                         JSON_DEPTH);
    }
    if (json_kind(ask->document) != JSON_KIND_OBJECT)
        return error_set(error, BERT_RECORD, "the body must be an object, not %s",
                         json_kind_name(json_kind(ask->document)));
    status = shape == ASK_PREDICT ? read_predict(ask, error) : read_fill_mask(ask, error);
    return status == BERT_OK && ask->words.failed ? error_memory(error) : status;
}

void ask_release(struct ask *ask) {
    free(ask->texts);
    buffer_release(&ask->words);
    json_free(ask->document);
    *ask = (struct ask){0};
}
