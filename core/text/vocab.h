/* SPDX-License-Identifier: MIT
 *
 * vocab.h: the lines of a vocab.txt by id, and a hash table from entry to id. */
#ifndef TEXT_VOCAB_H
#define TEXT_VOCAB_H

#include "base/bytes.h"
#include "base/status.h"

struct vocab_slot {
    uint32_t hash;
    int32_t id; /* -1: empty */
};

struct vocab {
    int32_t count;
    size_t longest;           /* bytes of the longest entry */
    char *text;               /* all entries, each followed by NUL */
    uint32_t *offsets;        /* count + 1, into text */
    struct vocab_slot *slots; /* slot_mask + 1, a power of two */
    uint32_t slot_mask;
};

/* Splits at 0x0A only (U+2028 is an entry of real vocabularies), drops a CR at a line's
 * end and a byte-order mark in front; a blank line is an entry, the missing last LF does
 * not matter. Where an entry stands twice its last id counts. Notes on a mark and on
 * doubles. BERT_MODEL for invalid UTF-8, NUL, no entries or too many. vocab need not be
 * initialised; vocab_release is right after failures, too. */
enum bert_status vocab_init(struct vocab *vocab, struct span lines,
                            void (*note)(void *arg, const char *line), void *note_arg,
                            struct bert_error *error);
void vocab_release(struct vocab *vocab);

/* id is in range; NUL-terminated. */
static inline struct span vocab_entry(const struct vocab *vocab, int32_t id) {
    uint32_t start = vocab->offsets[id];
    return (struct span){vocab->text + start, vocab->offsets[id + 1] - 1 - start};
}

/* The hash of an entry: start with VOCAB_SEED and add its bytes one by one, so that the
 * prefixes of a word are hashed in one go. */
#define VOCAB_SEED 2166136261u
static inline uint32_t vocab_hash_add(uint32_t hash, unsigned char byte) {
    return (hash ^ byte) * 16777619u;
}
/* The id of prefix followed by rest, whose joint hash is given; -1 when there is none. */
int32_t vocab_find_hashed(const struct vocab *vocab, uint32_t hash, struct span prefix,
                          struct span rest);
int32_t vocab_find(const struct vocab *vocab, struct span entry);

#endif
