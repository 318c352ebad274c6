/* SPDX-License-Identifier: MIT
 *
 * arena.c: a list of blocks, filled one after the other. */
#include "base/arena.h"

#include "base/bytes.h"

#include <stdalign.h>
#include <stdlib.h>

enum { ALIGNMENT = 16, BLOCK = 64 << 10, KEEP = 4 << 20 };

struct arena_block {
    struct arena_block *next;
    size_t size;
    alignas(ALIGNMENT) char data[];
};

static void free_blocks(struct arena_block *block) {
    while (block != NULL) {
        struct arena_block *next = block->next;
        free(block);
        block = next;
    }
}

void arena_init(struct arena *arena) {
    *arena = (struct arena){0};
}

void arena_release(struct arena *arena) {
    free_blocks(arena->first);
    arena_init(arena);
}

void arena_reset(struct arena *arena) {
    size_t kept = 0;
    for (struct arena_block **link = &arena->first; *link != NULL;) {
        struct arena_block *block = *link;
        if (block->size <= KEEP - kept) {
            kept += block->size;
            link = &block->next;
        } else {
            *link = block->next;
            free(block);
        }
    }
    arena->current = arena->first;
    arena->used = 0;
}

/* A block of at least size bytes, linked in after the current one. */
static struct arena_block *add_block(struct arena *arena, size_t size) {
    size_t total, room = size > BLOCK ? size : BLOCK;
    if (!size_add(room, sizeof(struct arena_block), &total))
        return NULL;
    struct arena_block *block = malloc(total);
    if (block == NULL)
        return NULL;
    struct arena_block **link = arena->current ? &arena->current->next : &arena->first;
    block->size = room;
    block->next = *link;
    *link = block;
    return block;
}

void *arena_alloc(struct arena *arena, size_t size) {
    if (!size_add(size, ALIGNMENT - 1, &size))
        return NULL;
    size &= ~(size_t)(ALIGNMENT - 1);
    struct arena_block *block = arena->current;
    if (block == NULL || size > block->size - arena->used) {
        block = block ? block->next : arena->first;
        if (block == NULL || size > block->size)
            block = add_block(arena, size);
        if (block == NULL)
            return NULL;
        arena->current = block;
        arena->used = 0;
    }
    void *result = block->data + arena->used;
    arena->used += size;
    return result;
}

void *arena_array(struct arena *arena, size_t count, size_t size) {
    size_t total;
    if (!size_mul(count, size, &total))
        return NULL;
    void *result = arena_alloc(arena, total);
    return result == NULL ? NULL : memset(result, 0, total);
}

char *arena_text(struct arena *arena, const char *bytes, size_t length) {
    size_t total;
    char *copy = size_add(length, 1, &total) ? arena_alloc(arena, total) : NULL;
    if (copy == NULL)
        return NULL;
    if (length > 0)
        memcpy(copy, bytes, length);
    copy[length] = '\0';
    return copy;
}
