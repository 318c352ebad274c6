/* SPDX-License-Identifier: MIT
 *
 * filter.h: which vocabulary entries may be answers, as a bit map for requests. */
#ifndef MLM_FILTER_H
#define MLM_FILTER_H

#include "base/arena.h"
#include "text/tokenizer.h"

enum {
    FILTER_HAN = 1,      /* only Han characters */
    FILTER_NO_PUNCT = 2, /* no punctuation */
    FILTER_WHOLE = 4,    /* no ## pieces */
    FILTER_PLAIN = 8     /* no special and no [unused] tokens */
};

/* rows: of the embedding, which may have some past the vocabulary's end; these are never
 * allowed. *allowed is NULL when all are; else it lives in the arena. False without
 * memory. */
bool filter_build(const struct tokenizer *tokenizer, size_t rows, unsigned filters,
                  struct arena *arena, const uint64_t **allowed);

static inline bool filter_has(const uint64_t *map, int32_t id) {
    return map[id / 64] >> (id % 64) & 1;
}

#endif
