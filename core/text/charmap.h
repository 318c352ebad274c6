/* SPDX-License-Identifier: MIT
 *
 * charmap.h: what a tokenizer does with each code point, in one look-up: settings,
 * classes, mappings and the ids of one-character words, in pages of 256 cells of which
 * equal ones are shared. */
#ifndef TEXT_CHARMAP_H
#define TEXT_CHARMAP_H

#include "text/unicode.h"
#include "text/vocab.h"

/* A cell is kind << CHARMAP_SHIFT | payload. */
enum charmap_kind {
    CHARMAP_WORD,  /* part of a word; payload ^ code point is what to add */
    CHARMAP_ALONE, /* a word of its own; payload is its id */
    CHARMAP_DROP,
    CHARMAP_BLANK,
    CHARMAP_SLOW, /* see cluster.h; payload: the unicode_flags that matter */
};
enum { CHARMAP_SHIFT = 28, CHARMAP_PAYLOAD = (1 << CHARMAP_SHIFT) - 1 };

struct charmap_settings {
    bool lower_case, strip_accents, split_chinese;
};

struct charmap {
    uint32_t (*cells)[256];
    uint16_t pages[UNICODE_LIMIT >> 8];
    uint32_t count, capacity; /* pages of cells */
    struct charmap_settings settings;
};

/* unknown: the id of words that the vocabulary lacks. false: no memory, nothing kept. */
bool charmap_init(struct charmap *map, const struct charmap_settings *settings,
                  const struct vocab *vocab, int32_t unknown);
void charmap_release(struct charmap *map);

static inline uint32_t charmap_cell(const struct charmap *map, uint32_t codepoint) {
    return map->cells[map->pages[codepoint >> 8]][codepoint & 0xff];
}

/* Decodes valid UTF-8; left is at least 1. Other bytes do no harm: U+FFFD, which is
 * dropped. */
static inline uint32_t charmap_decode(const char *text, size_t left, size_t *length) {
    const unsigned char *s = (const unsigned char *)text;
    if (s[0] >= 0xe0 && s[0] < 0xf0 && left >= 3) {
        *length = 3;
        return (s[0] & 0x0fu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu);
    }
    *length = 1;
    if (s[0] < 0x80)
        return s[0];
    if (s[0] < 0xe0 && left >= 2) {
        *length = 2;
        return (s[0] & 0x1fu) << 6 | (s[1] & 0x3fu);
    }
    if (s[0] >= 0xf0 && left >= 4) {
        uint32_t codepoint = (s[0] & 0x07u) << 18 | (s[1] & 0x3fu) << 12 |
                             (s[2] & 0x3fu) << 6 | (s[3] & 0x3fu);
        *length = 4;
        return codepoint < UNICODE_LIMIT ? codepoint : 0xfffd;
    }
    return 0xfffd;
}

#endif
