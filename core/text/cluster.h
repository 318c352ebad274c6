/* SPDX-License-Identifier: MIT
 *
 * cluster.h: the slow path of normalising: a character that changes in some way, together
 * with the combining marks behind it, is decomposed, reordered, stripped of its accents
 * and lower-cased, in that order, with Hugging Face's account of where each result came
 * from (which, when marks are reordered, goes by their places and not by the marks). */
#ifndef TEXT_CLUSTER_H
#define TEXT_CLUSTER_H

#include "base/arena.h"
#include "text/charmap.h"

enum { CLUSTER_ROOM = 16 };

struct cluster_item {
    uint32_t codepoint;
    uint8_t order;     /* combining class */
    bool first;        /* of what its source decomposes to */
    size_t start, end; /* bytes of the source */
};

struct cluster {                                  /* a result of cluster_read: items */
    struct cluster_item *items, *spare, *sources; /* in room, or when many in the arena */
    size_t count, capacity;
    struct cluster_item room[3][CLUSTER_ROOM];
};

void cluster_init(struct cluster *cluster);

/* Reads the cluster at text[at], at < end, whose cell is CHARMAP_SLOW. Returns where it
 * ends, or 0 without memory. */
size_t cluster_read(struct cluster *cluster, const struct charmap *map, const char *text,
                    size_t at, size_t end, struct arena *arena);

#endif
