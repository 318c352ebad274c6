/* SPDX-License-Identifier: MIT
 *
 * unicode.h: what Hugging Face's BERT tokenizer takes each code point for. Its classes
 * are those of about Unicode 8 and its mappings of other versions, so no library of today
 * agrees with it; unicode_table.c, written by unicode_table.py, holds them for ever. */
#ifndef TEXT_UNICODE_H
#define TEXT_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UNICODE_LIMIT = 0x110000 };

/* A class in the low bits, and what normalising may do. Surrogates have no flags. */
enum unicode_flags {
    UNICODE_CLASS = 7,
    UNICODE_DROP = 1, /* control, format, private use: gone before anything else */
    UNICODE_BLANK = 2,
    UNICODE_PUNCTUATION = 3, /* a word of its own */
    UNICODE_CJK = 4,         /* a word of its own, when Chinese characters are split */
    UNICODE_MARK = 5,        /* gone when accents are stripped */

    UNICODE_DECOMPOSES = 8, /* canonically (NFD) */
    UNICODE_LOWERS = 16,    /* has a lower case */
    UNICODE_REORDERS = 32,  /* combining class not 0 (of the first that it becomes) */
};

/* first << 8 | flags, rising; each holds up to the next one's first. */
extern const uint32_t unicode_ranges[];
extern const size_t unicode_range_count;

struct unicode_order { /* combining class of first to last, rising */
    uint32_t first, last;
    uint8_t value;
};
extern const struct unicode_order unicode_orders[];
extern const size_t unicode_order_count;

struct unicode_lower { /* lower cases other than utf8proc's; 0 ends; rising */
    uint32_t from, to[2];
};
extern const struct unicode_lower unicode_lowers[];
extern const size_t unicode_lower_count;

unsigned unicode_flags(uint32_t codepoint);
/* The canonical combining class; 0 for most. */
uint8_t unicode_order(uint32_t codepoint);
/* A Chinese character as people see it: CJK, and the marks 々 〇. */
bool unicode_is_han(uint32_t codepoint);

#endif
