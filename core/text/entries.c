/* SPDX-License-Identifier: MIT
 *
 * entries.c: an entry is of a kind when all its characters are. */
#include "text/entries.h"

#include "text/charmap.h"
#include "text/normalize.h"

#include <stdlib.h>

/* Most entries are words of Latin letters: one look settles them. */
static bool starts_alphanumeric(struct span body) {
    char c = body.size > 0 ? body.data[0] : '\0';
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool all_are(struct span body, bool (*is)(uint32_t codepoint)) {
    size_t length;
    for (size_t at = 0; at < body.size; at += length)
        if (!is(charmap_decode(body.data + at, body.size - at, &length)))
            return false;
    return body.size > 0;
}

static bool is_enclosed(struct span entry, char open, char close) {
    return entry.size > 2 && entry.data[0] == open && entry.data[entry.size - 1] == close;
}

bool entries_classify(uint64_t *classes[ENTRY_CLASSES], const struct vocab *vocab,
                      const struct special_ids *special) {
    size_t words = ((size_t)vocab->count + 63) / 64;
    for (size_t i = 0; i < ENTRY_CLASSES; i++) {
        classes[i] = calloc(words, sizeof **classes);
        if (classes[i] == NULL)
            return false;
    }
    for (int32_t id = 0; id < vocab->count; id++) {
        struct span entry = vocab_entry(vocab, id), body = entry;
        bool is[ENTRY_CLASSES] = {false};
        is[ENTRY_PIECE] = entry.size > 2 && memcmp(entry.data, "##", 2) == 0;
        if (is[ENTRY_PIECE])
            body = (struct span){entry.data + 2, entry.size - 2};
        is[ENTRY_SPECIAL] = id == special->pad || id == special->unknown ||
                            id == special->cls || id == special->sep ||
                            id == special->mask;
        is[ENTRY_UNUSED] =
            entry.size == 0 || (!is[ENTRY_SPECIAL] && (is_enclosed(entry, '[', ']') ||
                                                       is_enclosed(entry, '<', '>')));
        if (!starts_alphanumeric(body)) {
            is[ENTRY_HAN] = all_are(body, unicode_is_han);
            is[ENTRY_PUNCTUATION] = !is[ENTRY_HAN] && all_are(body, normalize_is_symbol);
        }
        for (size_t i = 0; i < ENTRY_CLASSES; i++)
            classes[i][id / 64] |= (uint64_t)is[i] << (id % 64);
    }
    return true;
}
