/* SPDX-License-Identifier: MIT
 *
 * yaml.c: libyaml's events walked as a small state machine, since a configuration needs
 * no document tree and wants the place of every value for its messages. */
#include "io/yaml.h"

#include "base/arena.h"
#include "base/bytes.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

enum { SIZE_LIMIT = 1 << 20, KEY_LIMIT = 1000 };

struct seen { /* the keys met so far */
    const struct seen *next;
    const char *section, *key;
};

struct reader {
    const char *path;
    yaml_take *take;
    void *arg;
    struct bert_error *error;
    yaml_parser_t parser;
    struct arena arena;
    const struct seen *seen;
    size_t keys;
    struct yaml_item item;
};

static struct yaml_place place_of(yaml_mark_t mark) {
    return (struct yaml_place){mark.line + 1, mark.column + 1};
}

static enum bert_status fail_at(const struct reader *reader, struct yaml_place place,
                                const char *why) {
    return error_set(reader->error, BERT_USAGE, "%s:%zu:%zu: %s", reader->path,
                     place.line, place.column, why);
}

static enum bert_status fail_here(const struct reader *reader, yaml_mark_t mark,
                                  const char *why) {
    return fail_at(reader, place_of(mark), why);
}

/* The next event; the caller deletes it unless this fails. */
static enum bert_status next(struct reader *reader, yaml_event_t *event) {
    yaml_parser_t *parser = &reader->parser;
    if (yaml_parser_parse(parser, event))
        return BERT_OK;
    if (parser->error == YAML_MEMORY_ERROR)
        return error_memory(reader->error);
    return fail_here(reader, parser->problem_mark,
                     parser->problem ? parser->problem : "not YAML");
}

static bool is_marked(const yaml_event_t *event) {
    const yaml_char_t *anchor = NULL, *tag = NULL;
    if (event->type == YAML_SCALAR_EVENT) {
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
    } else if (event->type == YAML_SEQUENCE_START_EVENT) {
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
    } else if (event->type == YAML_MAPPING_START_EVENT) {
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
    }
    return anchor != NULL || tag != NULL || event->type == YAML_ALIAS_EVENT;
}

/* A scalar's text in the arena; NUL would cut it short later. */
static enum bert_status copy_scalar(struct reader *reader, const yaml_event_t *event,
                                    const char **text) {
    const char *value = (const char *)event->data.scalar.value;
    if (strlen(value) != event->data.scalar.length)
        return fail_here(reader, event->start_mark, "a NUL byte");
    *text = arena_text(&reader->arena, value, event->data.scalar.length);
    return *text ? BERT_OK : error_memory(reader->error);
}

static enum bert_status take_scalar(struct reader *reader, const yaml_event_t *event) {
    struct yaml_item *item = &reader->item;
    enum bert_status status = copy_scalar(reader, event, &item->value);
    if (status != BERT_OK)
        return status;
    item->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    item->places[YAML_VALUE] = place_of(event->start_mark);
    enum yaml_part culprit = YAML_VALUE;
    struct bert_error why = {.message = ""};
    status = reader->take(reader->arg, item, &culprit, &why);
    if (status != BERT_USAGE)
        return status == BERT_OK ? status
                                 : error_set(reader->error, status, "%s", why.message);
    return fail_at(reader, item->places[culprit], why.message);
}

static enum bert_status take_list(struct reader *reader) {
    reader->item.listed = true;
    for (;;) {
        yaml_event_t event;
        enum bert_status status = next(reader, &event);
        if (status != BERT_OK)
            return status;
        bool end = event.type == YAML_SEQUENCE_END_EVENT;
        if (!end && (event.type != YAML_SCALAR_EVENT || is_marked(&event)))
            status =
                fail_here(reader, event.start_mark, "a list holds plain values only");
        else if (!end)
            status = take_scalar(reader, &event);
        yaml_event_delete(&event);
        if (end || status != BERT_OK)
            return status;
    }
}

static bool same_section(const char *a, const char *b) {
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static enum bert_status take_key(struct reader *reader, const yaml_event_t *event) {
    struct yaml_item *item = &reader->item;
    if (event->type != YAML_SCALAR_EVENT || is_marked(event))
        return fail_here(reader, event->start_mark, "a key must be a plain word");
    if (++reader->keys > KEY_LIMIT)
        return fail_here(reader, event->start_mark, "more than 1000 keys");
    enum bert_status status = copy_scalar(reader, event, &item->key);
    if (status != BERT_OK)
        return status;
    item->places[YAML_KEY] = place_of(event->start_mark);
    item->listed = item->again = false;
    for (const struct seen *seen = reader->seen; seen != NULL; seen = seen->next)
        item->again = item->again || (same_section(seen->section, item->section) &&
                                      strcmp(seen->key, item->key) == 0);
    struct seen *seen = arena_alloc(&reader->arena, sizeof *seen);
    if (seen == NULL)
        return error_memory(reader->error);
    *seen = (struct seen){reader->seen, item->section, item->key};
    reader->seen = seen;
    return BERT_OK;
}

static enum bert_status take_mapping(struct reader *reader);

static enum bert_status take_value(struct reader *reader, const yaml_event_t *event) {
    if (is_marked(event))
        return fail_here(reader, event->start_mark,
                         "anchors, aliases and tags are not read");
    if (event->type == YAML_SCALAR_EVENT)
        return take_scalar(reader, event);
    if (event->type == YAML_SEQUENCE_START_EVENT)
        return take_list(reader);
    if (reader->item.section != NULL)
        return fail_here(reader, event->start_mark, "sections within sections");
    reader->item.section = reader->item.key;
    reader->item.places[YAML_SECTION] = reader->item.places[YAML_KEY];
    enum bert_status status = take_mapping(reader);
    reader->item.section = NULL;
    return status;
}

static enum bert_status take_mapping(struct reader *reader) {
    for (;;) {
        yaml_event_t event;
        enum bert_status status = next(reader, &event);
        if (status != BERT_OK)
            return status;
        bool end = event.type == YAML_MAPPING_END_EVENT;
        if (!end)
            status = take_key(reader, &event);
        yaml_event_delete(&event);
        if (end || status != BERT_OK || (status = next(reader, &event)) != BERT_OK)
            return status;
        status = take_value(reader, &event);
        yaml_event_delete(&event);
        if (status != BERT_OK)
            return status;
    }
}

/* An empty file is fine: everything may be commented out. */
static enum bert_status take_file(struct reader *reader) {
    for (int documents = 0;;) {
        yaml_event_t event;
        enum bert_status status = next(reader, &event);
        if (status != BERT_OK)
            return status;
        yaml_event_type_t type = event.type;
        if (type == YAML_DOCUMENT_START_EVENT && ++documents > 1)
            status = fail_here(reader, event.start_mark, "a second document");
        else if (type == YAML_MAPPING_START_EVENT && !is_marked(&event))
            status = take_mapping(reader);
        else if ((type == YAML_SCALAR_EVENT && event.data.scalar.length > 0) ||
                 type == YAML_SEQUENCE_START_EVENT || type == YAML_MAPPING_START_EVENT ||
                 type == YAML_ALIAS_EVENT)
            status = fail_here(reader, event.start_mark, "expected lines of KEY: VALUE");
        yaml_event_delete(&event);
        if (status != BERT_OK || type == YAML_STREAM_END_EVENT)
            return status;
    }
}

/* A file or a pipe. */
static enum bert_status load(struct buffer *text, const char *path,
                             struct bert_error *error) {
    FILE *file = fopen(path, "re");
    char chunk[4096];
    for (size_t n = 1; file && n > 0 && text->size <= SIZE_LIMIT;) {
        n = fread(chunk, 1, sizeof chunk, file);
        buffer_add(text, chunk, n);
    }
    int why = !file || ferror(file) ? errno : 0;
    if (file)
        fclose(file);
    if (text->failed || why == ENOMEM)
        return error_memory(error);
    if (why)
        return error_set(error, why == EIO ? BERT_IO : BERT_USAGE, "%s: %s", path,
                         strerror(why));
    if (text->size > SIZE_LIMIT)
        return error_set(error, BERT_USAGE, "%s: longer than 1 MiB", path);
    return BERT_OK;
}

static enum bert_status read_bytes(struct reader *reader, const struct buffer *file) {
    const char *text = file->data;
    size_t valid = utf8_valid_prefix(text, file->size);
    if (valid < file->size) {
        struct yaml_place place = {1, 1};
        for (size_t i = 0; i < valid; i++) {
            place.column += ((unsigned char)text[i] & 0xc0) != 0x80;
            if (text[i] == '\n') {
                place.line++;
                place.column = 1;
            }
        }
        return fail_at(reader, place, "not valid UTF-8");
    }
    if (!yaml_parser_initialize(&reader->parser))
        return error_memory(reader->error);
    yaml_parser_set_encoding(&reader->parser, YAML_UTF8_ENCODING);
    size_t bom = file->size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    yaml_parser_set_input_string(&reader->parser, (const unsigned char *)text + bom,
                                 file->size - bom);
    enum bert_status status = take_file(reader);
    yaml_parser_delete(&reader->parser);
    return status;
}

enum bert_status yaml_read(const char *path, yaml_take *take, void *arg,
                           struct bert_error *error) {
    struct reader reader = {.path = path, .take = take, .arg = arg, .error = error};
    struct buffer file = {0};
    enum bert_status status = load(&file, path, error);
    arena_init(&reader.arena);
    if (status == BERT_OK && file.size > 0)
        status = read_bytes(&reader, &file);
    arena_release(&reader.arena);
    buffer_release(&file);
    return status;
}
