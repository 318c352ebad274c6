/* SPDX-License-Identifier: MIT
 *
 * wordpiece.c: prefixes of the rest of a word are hashed in one pass and then looked up
 * from the longest down. */
#include "text/wordpiece.h"

void wordpiece_init(struct wordpiece *words, const struct vocab *vocab, int32_t unknown,
                    struct token_list *tokens, size_t size, struct arena *arena) {
    words->vocab = vocab;
    words->unknown = unknown;
    words->inner_seed = vocab_hash_add(vocab_hash_add(VOCAB_SEED, '#'), '#');
    words->count = 0;
    words->end = 0;
    words->at[0] = 0;
    words->tokens = tokens;
    words->capacity = 0;
    words->arena = arena;
    words->failed = false;
    *tokens = (struct token_list){0};
    if (size > 0) {
        words->capacity = size / 6; /* grow makes it size / 3 and more: Chinese */
        wordpiece_grow(words);
    }
}

void wordpiece_grow(struct wordpiece *words) {
    struct token_list *tokens = words->tokens;
    size_t capacity, bytes;
    if (!size_add(words->capacity, words->capacity + 16, &capacity) ||
        !size_mul(capacity, sizeof(int32_t) + 2 * sizeof(size_t), &bytes)) {
        words->failed = true;
        return;
    }
    size_t *starts = arena_alloc(words->arena, bytes);
    if (starts == NULL) {
        words->failed = true;
        return;
    }
    size_t *ends = starts + capacity;
    int32_t *ids = (int32_t *)(void *)(ends + capacity);
    if (tokens->count > 0) {
        memcpy(starts, tokens->starts, tokens->count * sizeof *starts);
        memcpy(ends, tokens->ends, tokens->count * sizeof *ends);
        memcpy(ids, tokens->ids, tokens->count * sizeof *ids);
    }
    tokens->starts = starts;
    tokens->ends = ends;
    tokens->ids = ids;
    words->capacity = capacity;
}

/* The longest entry that the word goes on with from character begin. Returns its id and
 * sets *end, or returns -1. */
static int32_t longest(const struct wordpiece *words, size_t begin, size_t *end) {
    struct span prefix = {"##", begin > 0 ? 2 : 0};
    const uint16_t *at = words->at;
    uint32_t hashes[WORDPIECE_MOST];
    uint32_t hash = begin > 0 ? words->inner_seed : VOCAB_SEED;
    size_t stop = begin;
    for (; stop < words->count; stop++) {
        if (at[stop + 1] - at[begin] + prefix.size > words->vocab->longest)
            break;
        for (size_t i = at[stop]; i < at[stop + 1]; i++)
            hash = vocab_hash_add(hash, (unsigned char)words->bytes[i]);
        hashes[stop] = hash;
    }
    for (; stop > begin; stop--) {
        struct span rest = {words->bytes + at[begin], (size_t)(at[stop] - at[begin])};
        int32_t id = vocab_find_hashed(words->vocab, hashes[stop - 1], prefix, rest);
        if (id >= 0) {
            *end = stop;
            return id;
        }
    }
    return -1;
}

void wordpiece_flush(struct wordpiece *words) {
    if (words->count == 0)
        return;
    struct token_list before = *words->tokens;
    bool known = words->count <= WORDPIECE_MOST;
    for (size_t begin = 0, end = 0; known && begin < words->count; begin = end) {
        int32_t id = longest(words, begin, &end);
        known = id >= 0;
        if (known)
            wordpiece_emit(words, id, words->starts[begin], words->ends[end - 1]);
    }
    if (!known) {
        words->tokens->count = before.count;
        words->tokens->unknown = before.unknown;
        wordpiece_emit(words, words->unknown, words->starts[0], words->end);
    }
    words->count = 0;
}
