/* SPDX-License-Identifier: MIT
 *
 * paths.h: the best of many token sequences of one length, kept sorted: by falling score,
 * then by rising ids. */
#ifndef MLM_PATHS_H
#define MLM_PATHS_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

struct path {
    double score;
    int32_t *ids;
};

struct paths { /* in an arena */
    struct path *list;
    size_t count, limit;
};

/* Room for the best limit (at least 1); false without memory. */
bool paths_new(struct paths *paths, struct arena *arena, size_t limit);

/* Offers prefix (depth tokens) followed by id; false without memory. */
bool paths_offer(struct paths *paths, struct arena *arena, double score,
                 const int32_t *prefix, size_t depth, int32_t id);

/* Below, at or above 0, as the first count ids of a come before, with or after b's. */
int paths_compare(const int32_t *a, const int32_t *b, size_t count);

#endif
