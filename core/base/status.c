/* SPDX-License-Identifier: MIT
 *
 * status.c: messages are made safe for a terminal here, once, so that no caller has to
 * think about what a quoted file name or cell may hold. */
#include "base/status.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>

/* C0, DEL and C1 controls can move a terminal's cursor; the separators break lines. */
static bool shows_safely(uint32_t codepoint) {
    return codepoint >= 0x20 && !(codepoint >= 0x7f && codepoint < 0xa0) &&
           codepoint != 0x2028 && codepoint != 0x2029;
}

static void copy_escaped(char *out, size_t room, const char *text, size_t size) {
    size_t at = 0;
    for (size_t i = 0; i < size;) {
        uint32_t codepoint = 0;
        size_t bad = 1, length = utf8_decode(text + i, size - i, &codepoint, &bad);
        bool plain = length > 0 && shows_safely(codepoint);
        size_t bytes = length > 0 ? length : bad;
        if (at + (plain ? bytes : 4 * bytes) >= room)
            break;
        for (size_t end = i + bytes; i < end; i++) {
            if (plain)
                out[at++] = text[i];
            else
                at += (size_t)snprintf(out + at, room - at, "\\x%02X",
                                       (unsigned char)text[i]);
        }
    }
    out[at] = '\0';
}

enum bert_status error_set(struct bert_error *error, enum bert_status status,
                           const char *format, ...) {
    if (error == NULL)
        return status;
    /* An argument may be the old message: format aside first. */
    char text[2 * sizeof error->message];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size_t size = length < 0 ? 0 : (size_t)length;
    if (size >= sizeof text) {
        size = sizeof text - 1;
        while (size > 0 && ((unsigned char)text[size - 1] & 0xc0) == 0x80)
            size--; /* a character that was cut is dropped, not shown as bad bytes */
        if (size > 0 && (unsigned char)text[size - 1] >= 0xc0)
            size--;
    }
    error->status = status;
    copy_escaped(error->message, sizeof error->message, text, size);
    return status;
}

enum bert_status error_memory(struct bert_error *error) {
    return error_set(error, BERT_INTERNAL, "out of memory");
}
