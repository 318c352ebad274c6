/* SPDX-License-Identifier: MIT
 *
 * json.h: JSON in and out. The reader is strict: UTF-8 checked, a member twice is
 * refused, nesting at most JSON_DEPTH; strings are counted, so \u0000 is a character in
 * them (not in a member's name). The writer appends to a buffer and leaves text as raw
 * UTF-8. */
#ifndef IO_JSON_H
#define IO_JSON_H

#include "base/bytes.h"
#include "base/status.h"

enum { JSON_DEPTH = 64 };

enum json_kind {
    JSON_KIND_NULL,
    JSON_KIND_BOOL,
    JSON_KIND_NUMBER,
    JSON_KIND_TEXT,
    JSON_KIND_LIST,
    JSON_KIND_OBJECT
};

struct json; /* a value; lives as long as the document that it is part of */

/* Any value may be the document, with blanks around it and nothing else. Fails with
 * BERT_RECORD and "line L column C: why"; BERT_USAGE when limit (0: none) is exceeded. */
enum bert_status json_parse(struct json **document, const char *bytes, size_t size,
                            size_t limit, struct bert_error *error);
void json_free(struct json *document);

/* Every reader below takes NULL for a value that is not there. */
enum json_kind json_kind(const struct json *value); /* of NULL: JSON_KIND_NULL */
/* "null", "true or false", "a number", "a text", "a list", "an object": for messages. */
const char *json_kind_name(enum json_kind kind);

/* NULL when object is no object or lacks the member. */
const struct json *json_member(const struct json *object, const char *name);
size_t json_count(const struct json *value); /* items or members; 0 for other kinds */
const struct json *json_item(const struct json *list, size_t index);

struct json_pair {
    struct span name;
    const struct json *value;
    void *cursor; /* NULL before the first */
};
/* Members in their order: struct json_pair pair = {0}; while (json_next(object, &pair))
 */
bool json_next(const struct json *object, struct json_pair *pair);

/* false, with the result untouched, when the value is of another kind. */
bool json_get_text(const struct json *value, struct span *text); /* NUL-terminated too */
bool json_get_number(const struct json *value, double *number);
/* A number without fraction or exponent. One beyond 64 bits is only a number. */
bool json_get_whole(const struct json *value, int64_t *whole);
bool json_get_bool(const struct json *value, bool *truth);
/* The digits of a number as they are written: a double holds 15 of them. object is the
 * text of an object that json_parse took. Empty when the name is written with escapes. */
struct span json_written_number(struct span object, const char *name);

/* A quoted string: only what JSON demands is escaped; invalid UTF-8 becomes U+FFFD. */
void json_put_text(struct buffer *out, const char *bytes, size_t size);
/* %.6g; null for what is not finite. */
void json_put_number(struct buffer *out, double number);
/* The same with as many digits as asked, 1 to 17. */
void json_put_digits(struct buffer *out, double number, int digits);

#endif
