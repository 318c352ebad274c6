/* SPDX-License-Identifier: MIT
 *
 * filter.c: bit maps over the vocabulary from the tokenizer's classes. */
#include "mlm/filter.h"

static uint64_t word_of(const struct tokenizer *tokenizer, enum entry_class which,
                        size_t i) {
    return tokenizer_class(tokenizer, which)[i];
}

bool filter_build(const struct tokenizer *tokenizer, size_t rows, unsigned filters,
                  struct arena *arena, const uint64_t **allowed) {
    *allowed = NULL;
    size_t size = (size_t)tokenizer_size(tokenizer), words = (size + 63) / 64;
    if (!filters && rows == size)
        return true;
    uint64_t *map = arena_array(arena, (rows + 63) / 64, sizeof *map);
    if (!map || rows < size)
        return false;
    for (size_t i = 0; i < words; i++) {
        map[i] = ~(uint64_t)0;
        if (filters & FILTER_HAN)
            map[i] &= word_of(tokenizer, ENTRY_HAN, i);
        if (filters & FILTER_NO_PUNCT)
            map[i] &= ~word_of(tokenizer, ENTRY_PUNCTUATION, i);
        if (filters & FILTER_WHOLE)
            map[i] &= ~word_of(tokenizer, ENTRY_PIECE, i);
        if (filters & FILTER_PLAIN)
            map[i] &= ~(word_of(tokenizer, ENTRY_SPECIAL, i) |
                        word_of(tokenizer, ENTRY_UNUSED, i));
    }
    if (size % 64)
        map[words - 1] &= (UINT64_C(1) << size % 64) - 1;
    *allowed = map;
    return true;
}
