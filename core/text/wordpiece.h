/* SPDX-License-Identifier: MIT
 *
 * wordpiece.h: collects the characters of a word and cuts it into the longest entries of
 * the vocabulary from the left, the later ones with ## in front. A word with a part that
 * is no entry, or of more than WORDPIECE_MOST characters, is one unknown token. */
#ifndef TEXT_WORDPIECE_H
#define TEXT_WORDPIECE_H

#include "text/tokenizer.h"
#include "text/vocab.h"

enum { WORDPIECE_MOST = 100 };

struct wordpiece {
    const struct vocab *vocab;
    int32_t unknown;
    uint32_t inner_seed; /* hash of ## */

    size_t count; /* characters of the word, those beyond WORDPIECE_MOST included */
    size_t end;   /* of the last one, in the text */
    size_t starts[WORDPIECE_MOST], ends[WORDPIECE_MOST]; /* of each, in the text */
    uint16_t at[WORDPIECE_MOST + 1];                     /* of each, in bytes */
    char bytes[4 * WORDPIECE_MOST];

    struct token_list *tokens;
    size_t capacity;
    struct arena *arena;
    bool failed; /* no memory: sticky */
};

/* size: bytes of text to come, a guess at how many tokens there will be. */
void wordpiece_init(struct wordpiece *words, const struct vocab *vocab, int32_t unknown,
                    struct token_list *tokens, size_t size, struct arena *arena);
/* Ends the word, if there is one. */
void wordpiece_flush(struct wordpiece *words);
void wordpiece_grow(struct wordpiece *words);

static inline void wordpiece_emit(struct wordpiece *words, int32_t id, size_t start,
                                  size_t end) {
    struct token_list *tokens = words->tokens;
    if (tokens->count == words->capacity)
        wordpiece_grow(words);
    if (words->failed)
        return;
    tokens->ids[tokens->count] = id;
    tokens->starts[tokens->count] = start;
    tokens->ends[tokens->count] = end;
    tokens->unknown += id == words->unknown;
    tokens->count++;
}

static inline void wordpiece_add(struct wordpiece *words, uint32_t codepoint,
                                 size_t start, size_t end) {
    size_t count = words->count++;
    words->end = end;
    if (count >= WORDPIECE_MOST)
        return;
    char *out = words->bytes + words->at[count];
    size_t length = 1;
    if (codepoint < 0x80) {
        out[0] = (char)codepoint;
    } else if (codepoint < 0x800) {
        out[0] = (char)(0xc0 | codepoint >> 6);
        out[1] = (char)(0x80 | (codepoint & 0x3f));
        length = 2;
    } else if (codepoint < 0x10000) {
        out[0] = (char)(0xe0 | codepoint >> 12);
        out[1] = (char)(0x80 | (codepoint >> 6 & 0x3f));
        out[2] = (char)(0x80 | (codepoint & 0x3f));
        length = 3;
    } else {
        out[0] = (char)(0xf0 | codepoint >> 18);
        out[1] = (char)(0x80 | (codepoint >> 12 & 0x3f));
        out[2] = (char)(0x80 | (codepoint >> 6 & 0x3f));
        out[3] = (char)(0x80 | (codepoint & 0x3f));
        length = 4;
    }
    words->starts[count] = start;
    words->ends[count] = end;
    words->at[count + 1] = (uint16_t)(words->at[count] + length);
}

#endif
