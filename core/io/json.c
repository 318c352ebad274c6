/* SPDX-License-Identifier: MIT
 *
 * json.c: the one file that knows the JSON library (jansson). A struct json is its
 * json_t. */
#include "io/json.h"

#include "base/arena.h"
#include "base/utf8.h"

#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>

/* ---- Memory ---- */

/* Out of memory, the library loses characters of a text or ends the process. So while it
 * reads, all that it takes comes from the document's arena, and is given back with that
 * alone; and where there is none left, a jump leaves the library at once. Others in the
 * process who use it keep the functions that they had. */
struct reading {
    struct arena *arena;
    jmp_buf failed;
};
static _Thread_local struct reading *reading;
static json_malloc_t others_take;
static json_free_t others_drop;

enum { OWNER = 16 }; /* bytes before each piece, where its arena stands */

static void *take(size_t size) {
    if (!reading)
        return others_take(size);
    struct arena **piece =
        size < SIZE_MAX - OWNER ? arena_alloc(reading->arena, OWNER + size) : NULL;
    if (!piece)
        longjmp(reading->failed, 1);
    *piece = reading->arena;
    return (char *)piece + OWNER;
}

static void drop(void *memory) {
    if (!reading)
        others_drop(memory);
}

static void set_functions(void) {
    json_get_alloc_funcs(&others_take, &others_drop);
    json_set_alloc_funcs(take, drop);
}

static void free_arena(struct arena *arena) {
    arena_release(arena);
    free(arena);
}

/* true, false and null are the library's own. */
static bool is_piece(const json_t *value) {
    return value && json_typeof(value) < JSON_TRUE;
}

/* ---- Reading ---- */

/* The library's own limit of nesting is thousands deep and fixed when it is built. */
static bool too_deep(const char *bytes, size_t size) {
    int depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < size; i++) {
        char byte = bytes[i];
        if (quoted) {
            if (byte == '\\')
                i++;
            else if (byte == '"')
                quoted = false;
        } else if (byte == '"') {
            quoted = true;
        } else if (byte == '{' || byte == '[') {
            if (++depth > JSON_DEPTH)
                return true;
        } else if (byte == '}' || byte == ']') {
            depth--;
        }
    }
    return false;
}

/* False when memory ran out. */
static bool load(struct arena *arena, const char *bytes, size_t size, json_t **value,
                 json_error_t *why) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL;
    struct reading mine = {.arena = arena};
    pthread_once(&once, set_functions);
    reading = &mine;
    bool whole = setjmp(mine.failed) == 0;
    if (whole) {
        *value = json_loadb(bytes, size, flags, why);
        /* A number of 20 digits is good JSON: it may stand in a record that we only pass
         * on. */
        if (!*value && json_error_code(why) == json_error_numeric_overflow)
            *value = json_loadb(bytes, size, flags | JSON_DECODE_INT_AS_REAL, why);
    }
    reading = NULL;
    return whole;
}

enum bert_status json_parse(struct json **document, const char *bytes, size_t size,
                            size_t limit, struct bert_error *error) {
    if (limit && size > limit)
        return error_set(error, BERT_USAGE, "JSON of %zu bytes; at most %zu", size,
                         limit);
    if (too_deep(bytes, size))
        return error_set(error, BERT_RECORD, "JSON nested more than %d deep", JSON_DEPTH);
    struct arena *arena = calloc(1, sizeof *arena);
    json_error_t why;
    json_t *value = NULL;
    if (!arena || !load(arena, bytes, size, &value, &why)) {
        if (arena)
            free_arena(arena);
        return error_memory(error);
    }
    if (!is_piece(value))
        free_arena(arena);
    if (!value)
        return error_set(error, BERT_RECORD, "line %d column %d: %s", why.line,
                         why.column, why.text);
    *document = (struct json *)value;
    return BERT_OK;
}

void json_free(struct json *document) {
    if (is_piece((json_t *)document))
        free_arena(*(struct arena **)((char *)document - OWNER));
}

enum json_kind json_kind(const struct json *value) {
    if (!value)
        return JSON_KIND_NULL;
    switch (json_typeof((const json_t *)value)) {
    case JSON_OBJECT:
        return JSON_KIND_OBJECT;
    case JSON_ARRAY:
        return JSON_KIND_LIST;
    case JSON_STRING:
        return JSON_KIND_TEXT;
    case JSON_INTEGER:
    case JSON_REAL:
        return JSON_KIND_NUMBER;
    case JSON_TRUE:
    case JSON_FALSE:
        return JSON_KIND_BOOL;
    case JSON_NULL:
        break;
    }
    return JSON_KIND_NULL;
}

const char *json_kind_name(enum json_kind kind) {
    static const char *const names[] = {"null",   "true or false", "a number",
                                        "a text", "a list",        "an object"};
    return names[kind];
}

const struct json *json_member(const struct json *object, const char *name) {
    return (const struct json *)json_object_get((const json_t *)object, name);
}

size_t json_count(const struct json *value) {
    const json_t *inner = (const json_t *)value;
    return json_is_array(inner) ? json_array_size(inner) : json_object_size(inner);
}

const struct json *json_item(const struct json *list, size_t index) {
    return (const struct json *)json_array_get((const json_t *)list, index);
}

bool json_next(const struct json *object, struct json_pair *pair) {
    if (!json_is_object((const json_t *)object))
        return false;
    json_t *inner = (json_t *)(uintptr_t)object; /* iterators take no const */
    pair->cursor = pair->cursor ? json_object_iter_next(inner, pair->cursor)
                                : json_object_iter(inner);
    if (!pair->cursor)
        return false;
    pair->name = span_of(json_object_iter_key(pair->cursor));
    pair->value = (const struct json *)json_object_iter_value(pair->cursor);
    return true;
}

bool json_get_text(const struct json *value, struct span *text) {
    const json_t *inner = (const json_t *)value;
    if (!json_is_string(inner))
        return false;
    *text = (struct span){json_string_value(inner), json_string_length(inner)};
    return true;
}

bool json_get_number(const struct json *value, double *number) {
    const json_t *inner = (const json_t *)value;
    if (!json_is_number(inner))
        return false;
    *number = json_number_value(inner);
    return true;
}

bool json_get_whole(const struct json *value, int64_t *whole) {
    const json_t *inner = (const json_t *)value;
    if (!json_is_integer(inner))
        return false;
    *whole = json_integer_value(inner);
    return true;
}

bool json_get_bool(const struct json *value, bool *truth) {
    const json_t *inner = (const json_t *)value;
    if (!json_is_boolean(inner))
        return false;
    *truth = json_is_true(inner);
    return true;
}

/* The size of the string that begins at text, its quotes included. */
static size_t string_size(struct span text) {
    size_t i = 1;
    while (text.data[i] != '"')
        i += text.data[i] == '\\' ? 2 : 1;
    return i + 1;
}

static size_t skip_blanks(struct span text, size_t at) {
    while (at < text.size && memchr(" \t\r\n", text.data[at], 4))
        at++;
    return at;
}

struct span json_written_number(struct span object, const char *name) {
    static const char digits[] = "+-.0123456789eE";
    size_t length = strlen(name);
    int depth = 0;
    for (size_t i = 0; i < object.size; i++) {
        struct span rest = {object.data + i, object.size - i};
        depth += *rest.data == '{' || *rest.data == '[';
        depth -= *rest.data == '}' || *rest.data == ']';
        if (*rest.data != '"')
            continue;
        size_t size = string_size(rest), after = skip_blanks(object, i + size);
        bool named =
            size == length + 2 && memcmp(rest.data + 1, name, length) == 0 && depth == 1;
        if (named && after < object.size && object.data[after] == ':') {
            size_t from = skip_blanks(object, after + 1), end = from;
            while (end < object.size &&
                   memchr(digits, object.data[end], sizeof digits - 1))
                end++;
            return (struct span){object.data + from, end - from};
        }
        i += size - 1;
    }
    return (struct span){"", 0};
}

static void put_escape(struct buffer *out, unsigned char byte) {
    static const char letters[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    for (const char *pair = letters; *pair; pair += 2) {
        if (*pair == (char)byte) {
            buffer_add_byte(out, '\\');
            buffer_add_byte(out, pair[1]);
            return;
        }
    }
    buffer_printf(out, "\\u%04x", byte);
}

void json_put_text(struct buffer *out, const char *bytes, size_t size) {
    buffer_add_byte(out, '"');
    size_t valid = utf8_valid_prefix(bytes, size);
    size_t plain = 0; /* start of the bytes not yet copied */
    for (size_t i = 0; i < size;) {
        unsigned char byte = (unsigned char)bytes[i];
        if (i < valid && byte >= 0x20 && byte != '"' && byte != '\\') {
            i++;
            continue;
        }
        if (i > plain)
            buffer_add(out, bytes + plain, i - plain);
        if (i < valid) {
            put_escape(out, byte);
            i++;
        } else {
            uint32_t codepoint;
            size_t bad = 1;
            utf8_decode(bytes + i, size - i, &codepoint, &bad);
            buffer_add(out, "\xef\xbf\xbd", 3);
            i += bad;
            valid = i + utf8_valid_prefix(bytes + i, size - i);
        }
        plain = i;
    }
    if (size > plain)
        buffer_add(out, bytes + plain, size - plain);
    buffer_add_byte(out, '"');
}

void json_put_number(struct buffer *out, double number) {
    json_put_digits(out, number, 6);
}

void json_put_digits(struct buffer *out, double number, int digits) {
    if (isfinite(number))
        buffer_printf(out, "%.*g", digits, number);
    else
        buffer_add_text(out, "null");
}
