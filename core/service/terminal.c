/* SPDX-License-Identifier: MIT
 *
 * terminal.c: display widths by utf8proc's tables, which text/ reads. */
#include "service/terminal.h"

#include "base/utf8.h"
#include "text/normalize.h"

/* The next character's length and columns; control characters and broken bytes take one.
 */
static size_t next(struct span text, size_t at, size_t *columns, bool *shown) {
    uint32_t codepoint = 0;
    size_t bad = 1,
           length = utf8_decode(text.data + at, text.size - at, &codepoint, &bad);
    *shown = length > 0 && codepoint >= 0x20 &&
             !(codepoint >= 0x7F && codepoint < 0xA0) && codepoint != 0x2028 &&
             codepoint != 0x2029 &&
             !(codepoint >= 0x202A && codepoint <= 0x202E); /* turns of direction */
    *columns = *shown ? (size_t)normalize_width(codepoint) : 1;
    return length ? length : bad;
}

size_t terminal_width(struct span text) {
    size_t width = 0, columns;
    bool shown;
    for (size_t at = 0; at < text.size; width += columns)
        at += next(text, at, &columns, &shown);
    return width;
}

struct span terminal_start(struct span text, size_t columns) {
    size_t width = 0, wide, at = 0;
    bool shown;
    while (at < text.size) {
        size_t length = next(text, at, &wide, &shown);
        if (width + wide > columns)
            break;
        width += wide;
        at += length;
    }
    return (struct span){text.data, at};
}

struct span terminal_end(struct span text, size_t columns) {
    size_t excess = terminal_width(text), at = 0, wide;
    bool shown;
    while (excess > columns) {
        at += next(text, at, &wide, &shown);
        excess -= wide;
    }
    return (struct span){text.data + at, text.size - at};
}

void terminal_put(struct buffer *out, struct span text, size_t columns) {
    size_t width = 0, wide;
    bool shown;
    for (size_t at = 0, length; at < text.size; at += length) {
        length = next(text, at, &wide, &shown);
        if (shown)
            buffer_add(out, text.data + at, length);
        else
            buffer_add_text(out, "\uFFFD");
        width += wide;
    }
    for (; width < columns; width++)
        buffer_add_byte(out, ' ');
}

void terminal_bar(struct buffer *out, double fraction, size_t columns) {
    static const char *const eighths[] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    double filled = fraction < 0 ? 0 : fraction > 1 ? 1 : fraction;
    size_t parts = (size_t)(filled * (double)columns * 8 + 0.5);
    for (size_t i = 0; i < columns; i++)
        buffer_add_text(out, i < parts / 8    ? "█"
                             : i == parts / 8 ? eighths[parts % 8]
                                              : " ");
}
