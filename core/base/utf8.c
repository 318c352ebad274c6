/* SPDX-License-Identifier: MIT
 *
 * utf8.c: the well-formed byte sequences of table 3-7 of the Unicode standard. */
#include "base/utf8.h"

#include <string.h>

size_t utf8_decode(const char *text, size_t size, uint32_t *codepoint, size_t *bad) {
    const unsigned char *s = (const unsigned char *)text;
    *bad = 1;
    if (s[0] < 0x80) {
        *codepoint = s[0];
        return 1;
    }
    size_t length = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    /* The second byte has narrower bounds: no long forms, surrogates or past 10FFFF. */
    unsigned char low = s[0] == 0xe0 ? 0xa0 : s[0] == 0xf0 ? 0x90 : 0x80;
    unsigned char high = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f : 0xbf;
    uint32_t value = s[0] & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if (i >= size || s[i] < low || s[i] > high) {
            *bad = i;
            return 0;
        }
        value = value << 6 | (s[i] & 0x3fu);
        low = 0x80;
        high = 0xbf;
    }
    *codepoint = value;
    return length;
}

size_t utf8_encode(uint32_t codepoint, char out[4]) {
    if (codepoint < 0x80) {
        out[0] = (char)codepoint;
        return 1;
    }
    size_t length = codepoint < 0x800 ? 2 : codepoint < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--, codepoint >>= 6)
        out[i] = (char)(0x80 | (codepoint & 0x3f));
    out[0] = (char)((0xf00u >> length & 0xf0u) | codepoint);
    return length;
}

/* Skips ASCII eight bytes at a time: most of a large CSV is checked this way. */
static size_t skip_ascii(const char *text, size_t at, size_t size) {
    uint64_t word;
    while (at + sizeof word <= size) {
        memcpy(&word, text + at, sizeof word);
        if (word & 0x8080808080808080u)
            break;
        at += sizeof word;
    }
    while (at < size && (unsigned char)text[at] < 0x80)
        at++;
    return at;
}

size_t utf8_valid_prefix(const char *text, size_t size) {
    size_t at = 0;
    while ((at = skip_ascii(text, at, size)) < size) {
        uint32_t codepoint;
        size_t bad, length = utf8_decode(text + at, size - at, &codepoint, &bad);
        if (length == 0)
            return at;
        at += length;
    }
    return size;
}

size_t utf8_count(const char *text, size_t size) {
    size_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}
