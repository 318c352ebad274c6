/* SPDX-License-Identifier: MIT
 *
 * target.c: decoding happens into one buffer as long as the raw target, which decoding
 * can only shorten; so spans into it stay where they are. */
#include "service/target.h"

#include "base/utf8.h"

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Appends the decoded bytes and returns them; data NULL when they are not acceptable. */
static struct span decode(struct buffer *out, struct span raw, bool plus_is_blank) {
    size_t start = out->size;
    for (size_t i = 0; i < raw.size; i++) {
        char byte = raw.data[i];
        if (byte == '%') {
            int high = i + 1 < raw.size ? hex_digit(raw.data[i + 1]) : -1;
            int low = i + 2 < raw.size ? hex_digit(raw.data[i + 2]) : -1;
            if (high < 0 || low < 0)
                return (struct span){NULL, 0};
            byte = (char)(high << 4 | low);
            i += 2;
        } else if (byte == '+' && plus_is_blank) {
            byte = ' ';
        }
        buffer_add_byte(out, byte);
    }
    struct span text = {out->data + start, out->size - start};
    if (out->failed || utf8_valid_prefix(text.data, text.size) != text.size)
        return (struct span){NULL, 0};
    return text;
}

static bool path_is_safe(struct span path) {
    for (size_t i = 0, segment = 0; i <= path.size; i++) {
        char byte = i < path.size ? path.data[i] : '/';
        if ((unsigned char)byte < 0x20 || byte == 0x7f || byte == '\\')
            return false;
        if (byte != '/')
            continue;
        struct span name = {path.data + segment, i - segment};
        if (span_equal(name, span_of(".")) || span_equal(name, span_of("..")))
            return false;
        segment = i + 1;
    }
    return true;
}

static size_t find(struct span text, char byte) {
    const char *at = text.size ? memchr(text.data, byte, text.size) : NULL;
    return at ? (size_t)(at - text.data) : text.size;
}

static struct span rest(struct span text, size_t from) {
    from = from < text.size ? from : text.size;
    return (struct span){text.data + from, text.size - from};
}

static enum bert_status parse_query(struct target *target, struct span query,
                                    struct bert_error *error) {
    while (query.size) {
        struct span pair = {query.data, find(query, '&')};
        query = rest(query, pair.size + 1);
        if (pair.size == 0)
            continue;
        if (target->query_count == TARGET_QUERY_MAX)
            return error_set(error, BERT_RECORD, "more than %d query fields",
                             TARGET_QUERY_MAX);
        struct target_field *field = &target->query[target->query_count++];
        size_t equals = find(pair, '=');
        field->name = decode(&target->decoded, (struct span){pair.data, equals}, true);
        field->value = decode(&target->decoded, rest(pair, equals + 1), true);
        if (!field->name.data || !field->value.data)
            return error_set(error, BERT_RECORD,
                             "the query holds a bad escape or is not UTF-8");
    }
    return BERT_OK;
}

/* "http://host:port/path" → "/path": proxies and old clients send it. */
static struct span origin_form(struct span raw) {
    static const char scheme[] = "http://";
    if (raw.size < sizeof scheme - 1 || memcmp(raw.data, scheme, sizeof scheme - 1) != 0)
        return raw;
    raw = rest(raw, sizeof scheme - 1);
    return rest(raw, find(raw, '/'));
}

enum bert_status target_parse(struct target *target, struct span raw,
                              struct bert_error *error) {
    memset(target, 0, sizeof *target);
    if (!buffer_reserve(&target->decoded, raw.size + 1))
        return error_memory(error);
    raw = origin_form(raw);
    size_t end = find(raw, '?');
    struct span query = rest(raw, end + 1);
    struct span path = decode(&target->decoded, (struct span){raw.data, end}, false);
    if (!path.data || path.size == 0 || path.data[0] != '/' || !path_is_safe(path))
        return error_set(error, BERT_RECORD, "the path is not acceptable");
    target->path = path;
    return parse_query(target, query, error);
}

void target_release(struct target *target) {
    buffer_release(&target->decoded);
}

bool target_query(const struct target *target, const char *name, struct span *value) {
    for (size_t i = 0; i < target->query_count; i++) {
        if (span_equal(target->query[i].name, span_of(name))) {
            *value = target->query[i].value;
            return true;
        }
    }
    return false;
}
