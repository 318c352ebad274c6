/* SPDX-License-Identifier: MIT
 *
 * arena.h: memory of one batch: many allocations, one reset. Not thread-safe. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

struct arena_block;
struct arena {
    struct arena_block *first, *current;
    size_t used; /* bytes used of current */
};

void arena_init(struct arena *arena);
void arena_release(struct arena *arena); /* frees the blocks */
/* Forgets the contents, keeps the blocks (up to a few MB; what one huge record took is
 * given back). */
void arena_reset(struct arena *arena);

/* size bytes aligned to 16, uninitialised; NULL without memory. */
void *arena_alloc(struct arena *arena, size_t size);
/* count * size bytes, overflow-checked, zeroed. */
void *arena_array(struct arena *arena, size_t count, size_t size);
/* A NUL-terminated copy of length bytes. */
char *arena_text(struct arena *arena, const char *bytes, size_t length);

#endif
