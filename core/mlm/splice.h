/* SPDX-License-Identifier: MIT
 *
 * splice.h: puts words into the user's own text: every other byte of it stays. */
#ifndef MLM_SPLICE_H
#define MLM_SPLICE_H

#include "base/arena.h"
#include "base/bytes.h"

struct patch { /* bytes [start, end) of the text give way to the word */
    size_t start, end;
    struct span word;
};

/* A vocabulary entry as text: without the ## of a piece. */
struct span splice_word(const char *entry);

/* The patched text, NUL-terminated, in the arena; NULL without memory. Patches rise and
 * do not overlap. */
char *splice_text(struct arena *arena, struct span text, const struct patch *patches,
                  size_t count, size_t *length);

/* Whether so many copies of a text are too much to build at once. */
bool splice_excessive(struct span text, size_t copies);

#endif
