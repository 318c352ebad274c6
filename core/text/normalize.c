/* SPDX-License-Identifier: MIT
 *
 * normalize.c: utf8proc behind the flags of our own table, which say what may change at
 * all, so that a newer utf8proc gives no newer answers. */
#include "text/normalize.h"

#include "text/unicode.h"

#include <utf8proc.h>

size_t normalize_decompose(uint32_t codepoint, uint32_t out[NORMALIZE_MOST]) {
    utf8proc_int32_t parts[NORMALIZE_MOST];
    int boundary = 0;
    out[0] = codepoint;
    if (!(unicode_flags(codepoint) & UNICODE_DECOMPOSES))
        return 1;
    utf8proc_ssize_t count =
        utf8proc_decompose_char((utf8proc_int32_t)codepoint, parts, NORMALIZE_MOST,
                                UTF8PROC_STABLE | UTF8PROC_DECOMPOSE, &boundary);
    if (count < 1 || count > NORMALIZE_MOST)
        return 1;
    for (utf8proc_ssize_t i = 0; i < count; i++)
        out[i] = (uint32_t)parts[i];
    return (size_t)count;
}

static const struct unicode_lower *find_exception(uint32_t codepoint) {
    for (size_t i = 0; i < unicode_lower_count; i++)
        if (unicode_lowers[i].from == codepoint)
            return &unicode_lowers[i];
    return NULL;
}

size_t normalize_lower(uint32_t codepoint, uint32_t out[NORMALIZE_MOST]) {
    out[0] = codepoint;
    if (!(unicode_flags(codepoint) & UNICODE_LOWERS))
        return 1;
    const struct unicode_lower *exception = find_exception(codepoint);
    if (exception == NULL) {
        out[0] = (uint32_t)utf8proc_tolower((utf8proc_int32_t)codepoint);
        return 1;
    }
    out[0] = exception->to[0];
    out[1] = exception->to[1];
    return out[1] != 0 ? 2 : 1;
}

bool normalize_is_symbol(uint32_t codepoint) {
    if ((unicode_flags(codepoint) & UNICODE_CLASS) == UNICODE_PUNCTUATION)
        return true;
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)codepoint);
    return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_SO;
}

int normalize_width(uint32_t codepoint) {
    int width = utf8proc_charwidth((utf8proc_int32_t)codepoint);
    return width < 0 ? 0 : width > 2 ? 2 : width;
}
