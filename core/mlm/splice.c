/* SPDX-License-Identifier: MIT
 *
 * splice.c: text with words put in. */
#include "mlm/splice.h"

enum { COPIES_LIMIT = 4 << 20, BYTES_LIMIT = 512 << 20 };

struct span splice_word(const char *entry) {
    struct span word = span_of(entry);
    if (word.size > 2 && entry[0] == '#' && entry[1] == '#')
        word = (struct span){word.data + 2, word.size - 2};
    return word;
}

bool splice_excessive(struct span text, size_t copies) {
    size_t bytes;
    return copies > COPIES_LIMIT || !size_mul(text.size, copies, &bytes) ||
           bytes > BYTES_LIMIT;
}

static char *put(char *at, const char *bytes, size_t size) {
    if (size)
        memcpy(at, bytes, size);
    return at + size;
}

char *splice_text(struct arena *arena, struct span text, const struct patch *patches,
                  size_t count, size_t *length) {
    size_t size = text.size;
    for (size_t i = 0; i < count; i++)
        size = size - (patches[i].end - patches[i].start) + patches[i].word.size;
    char *result = arena_alloc(arena, size + 1), *at = result;
    if (!result)
        return NULL;
    size_t done = 0;
    for (size_t i = 0; i < count; i++) {
        at = put(at, text.data + done, patches[i].start - done);
        at = put(at, patches[i].word.data, patches[i].word.size);
        done = patches[i].end;
    }
    at = put(at, text.data + done, text.size - done);
    *at = '\0';
    *length = size;
    return result;
}
