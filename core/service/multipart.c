/* SPDX-License-Identifier: MIT
 *
 * multipart.c: the first delimiter lacks the line break in front, so the parser treats
 * the start of the body as if the break were there. */
#include "service/multipart.h"

#include <strings.h>

/* Value of `key=` in a header's parameters, quoted or not; size 0 when there is none. */
static struct span parameter(struct span header, const char *key) {
    size_t key_size = strlen(key);
    bool quoted = false;
    for (size_t i = 0; i < header.size; i++) {
        if (header.data[i] == '"')
            quoted = !quoted;
        if (quoted || header.data[i] != ';')
            continue;
        size_t at = i + 1;
        while (at < header.size && (header.data[at] == ' ' || header.data[at] == '\t'))
            at++;
        if (header.size - at <= key_size || header.data[at + key_size] != '=' ||
            strncasecmp(header.data + at, key, key_size) != 0)
            continue;
        at += key_size + 1;
        bool in_quotes = at < header.size && header.data[at] == '"';
        size_t start = at + in_quotes, end = start;
        while (end < header.size &&
               (in_quotes ? header.data[end] != '"' : !strchr("; \t", header.data[end])))
            end++;
        return (struct span){header.data + start, end - start};
    }
    return (struct span){"", 0};
}

bool multipart_start(struct multipart *multipart, const char *content_type,
                     struct span body) {
    static const char type[] = "multipart/form-data";
    if (!content_type || strncasecmp(content_type, type, sizeof type - 1) != 0)
        return false;
    struct span boundary = parameter(span_of(content_type), "boundary");
    if (boundary.size == 0 || boundary.size > 70)
        return false;
    if (body.size == 0)
        body = span_of("");
    memcpy(multipart->delimiter, "\r\n--", 4);
    memcpy(multipart->delimiter + 4, boundary.data, boundary.size);
    multipart->delimiter_size = boundary.size + 4;
    multipart->left = body;
    size_t opening = multipart->delimiter_size - 2;
    if (body.size >= opening &&
        memcmp(body.data, multipart->delimiter + 2, opening) == 0) {
        multipart->left.data += opening;
        multipart->left.size -= opening;
        return true;
    }
    const char *first = body.size ? memmem(body.data, body.size, multipart->delimiter,
                                           multipart->delimiter_size)
                                  : NULL;
    size_t skip =
        first ? (size_t)(first - body.data) + multipart->delimiter_size : body.size;
    multipart->left.data += skip;
    multipart->left.size -= skip;
    return true; /* a body without any delimiter fails in multipart_next */
}

static bool take_line(struct span *text, struct span *line) {
    const char *end = text->size ? memmem(text->data, text->size, "\r\n", 2) : NULL;
    if (!end)
        return false;
    *line = (struct span){text->data, (size_t)(end - text->data)};
    text->data += line->size + 2;
    text->size -= line->size + 2;
    return true;
}

static void read_header(struct span line, struct multipart_part *part) {
    static const char header[] = "Content-Disposition:";
    if (line.size < sizeof header ||
        strncasecmp(line.data, header, sizeof header - 1) != 0)
        return;
    part->name = parameter(line, "name");
    part->is_file = parameter(line, "filename").size || parameter(line, "filename*").size;
}

enum multipart_status multipart_next(struct multipart *multipart,
                                     struct multipart_part *part) {
    struct span *left = &multipart->left, line;
    memset(part, 0, sizeof *part);
    if (left->size >= 2 && memcmp(left->data, "--", 2) == 0)
        return MULTIPART_END;
    if (!take_line(left, &line) || line.size > 80)
        return MULTIPART_BAD; /* blanks may follow the boundary, nothing else */
    for (;;) {
        if (!take_line(left, &line))
            return MULTIPART_BAD;
        if (line.size == 0)
            break;
        read_header(line, part);
    }
    /* The delimiter of an empty part shares its line break with the headers. */
    struct span content = {left->data - 2, left->size + 2};
    const char *end = memmem(content.data, content.size, multipart->delimiter,
                             multipart->delimiter_size);
    if (!end)
        return MULTIPART_BAD;
    size_t size = (size_t)(end - content.data);
    part->content =
        size < 2 ? (struct span){left->data, 0} : (struct span){left->data, size - 2};
    size_t used = size + multipart->delimiter_size - 2;
    left->data += used;
    left->size -= used;
    return MULTIPART_PART;
}

bool multipart_find_file(const char *content_type, struct span body, struct span *file) {
    struct multipart multipart;
    struct multipart_part part;
    enum multipart_status status;
    int rank = 0;
    if (!multipart_start(&multipart, content_type, body))
        return false;
    while ((status = multipart_next(&multipart, &part)) == MULTIPART_PART) {
        int this_rank = span_equal(part.name, span_of("file")) ? 2 : part.is_file;
        if (this_rank > rank) {
            rank = this_rank;
            *file = part.content;
        }
    }
    return status == MULTIPART_END && rank > 0;
}
