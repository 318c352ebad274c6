/* SPDX-License-Identifier: MIT
 *
 * vocab.c: entries in one block, ids in an open-addressing table at most half full. */
#include "text/vocab.h"

#include "base/utf8.h"

#include <stdlib.h>

enum { MOST_BYTES = 1 << 28 };

static inline uint32_t slot_of(const struct vocab *vocab, uint32_t hash) {
    return (hash ^ hash >> 15) * 2654435769u >> 7 & vocab->slot_mask;
}

int32_t vocab_find_hashed(const struct vocab *vocab, uint32_t hash, struct span prefix,
                          struct span rest) {
    for (uint32_t i = slot_of(vocab, hash);; i = (i + 1) & vocab->slot_mask) {
        struct vocab_slot slot = vocab->slots[i];
        if (slot.id < 0)
            return -1;
        if (slot.hash != hash)
            continue;
        struct span entry = vocab_entry(vocab, slot.id);
        if (entry.size == prefix.size + rest.size &&
            memcmp(entry.data, prefix.data, prefix.size) == 0 &&
            memcmp(entry.data + prefix.size, rest.data, rest.size) == 0)
            return slot.id;
    }
}

static uint32_t hash_entry(struct span entry) {
    uint32_t hash = VOCAB_SEED;
    for (size_t i = 0; i < entry.size; i++)
        hash = vocab_hash_add(hash, (unsigned char)entry.data[i]);
    return hash;
}

int32_t vocab_find(const struct vocab *vocab, struct span entry) {
    return vocab_find_hashed(vocab, hash_entry(entry), (struct span){"", 0}, entry);
}

static struct span skip_mark(struct span lines, bool *marked) {
    *marked = lines.size >= 3 && memcmp(lines.data, "\xef\xbb\xbf", 3) == 0;
    return *marked ? (struct span){lines.data + 3, lines.size - 3} : lines;
}

static size_t count_lines(struct span lines) {
    size_t count = lines.size > 0 && lines.data[lines.size - 1] != '\n';
    for (size_t i = 0; i < lines.size; i++)
        count += lines.data[i] == '\n';
    return count;
}

/* Copies the lines to text, each ended by NUL. */
static void copy_entries(struct vocab *vocab, struct span lines) {
    const char *at = lines.data, *end = lines.data + lines.size;
    char *out = vocab->text;
    for (int32_t id = 0; id < vocab->count; id++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const char *next = stop != NULL ? stop + 1 : end;
        if (stop == NULL)
            stop = end;
        if (stop > at && stop[-1] == '\r')
            stop--;
        size_t size = (size_t)(stop - at);
        vocab->offsets[id] = (uint32_t)(out - vocab->text);
        if (size > 0)
            memcpy(out, at, size);
        out[size] = '\0';
        out += size + 1;
        at = next;
        if (size > vocab->longest)
            vocab->longest = size;
    }
    vocab->offsets[vocab->count] = (uint32_t)(out - vocab->text);
}

/* Returns how many entries stood there already; *first is the first such id. */
static int32_t fill_slots(struct vocab *vocab, int32_t *first) {
    int32_t doubles = 0;
    for (int32_t id = 0; id < vocab->count; id++) {
        struct span entry = vocab_entry(vocab, id);
        uint32_t hash = hash_entry(entry), i = slot_of(vocab, hash);
        struct vocab_slot *slot = &vocab->slots[i];
        while (slot->id >= 0 &&
               !(slot->hash == hash && span_equal(vocab_entry(vocab, slot->id), entry))) {
            i = (i + 1) & vocab->slot_mask;
            slot = &vocab->slots[i];
        }
        if (slot->id >= 0 && entry.size > 0 && doubles++ == 0)
            *first = id;
        *slot = (struct vocab_slot){hash, id};
    }
    return doubles;
}

static void note_double(const struct vocab *vocab, int32_t doubles, int32_t first,
                        void (*note)(void *arg, const char *line), void *note_arg) {
    char line[200];
    if (doubles == 1)
        snprintf(line, sizeof line,
                 "vocabulary: \"%.60s\" stands twice; its last line, %d, counts",
                 vocab_entry(vocab, first).data, (int)first + 1);
    else
        snprintf(line, sizeof line,
                 "vocabulary: %d entries stand twice, the first in line %d; "
                 "the last line of each counts",
                 (int)doubles, (int)first + 1);
    note(note_arg, line);
}

static enum bert_status check(struct span lines, struct bert_error *error) {
    if (lines.size == 0)
        return error_set(error, BERT_MODEL, "the vocabulary is empty");
    if (lines.size > MOST_BYTES)
        return error_set(error, BERT_MODEL, "the vocabulary has %zu bytes, more than %d",
                         lines.size, MOST_BYTES);
    size_t valid = utf8_valid_prefix(lines.data, lines.size), line = 1;
    const char *zero = memchr(lines.data, 0, valid);
    size_t good = zero != NULL ? (size_t)(zero - lines.data) : valid;
    if (good == lines.size)
        return BERT_OK;
    for (size_t i = 0; i < good; i++)
        line += lines.data[i] == '\n';
    return error_set(error, BERT_MODEL, "vocabulary, line %zu: %s", line,
                     zero != NULL ? "a NUL byte" : "not valid UTF-8");
}

enum bert_status vocab_init(struct vocab *vocab, struct span lines,
                            void (*note)(void *arg, const char *line), void *note_arg,
                            struct bert_error *error) {
    bool marked;
    *vocab = (struct vocab){0};
    lines = skip_mark(lines, &marked);
    enum bert_status status = check(lines, error);
    if (status != BERT_OK)
        return status;
    size_t count = count_lines(lines), slots = 64;
    while (slots < 2 * count)
        slots *= 2;
    vocab->text = malloc(lines.size + 1);
    vocab->offsets = malloc((count + 1) * sizeof *vocab->offsets);
    vocab->slots = malloc(slots * sizeof *vocab->slots);
    if (vocab->text == NULL || vocab->offsets == NULL || vocab->slots == NULL) {
        vocab_release(vocab);
        return error_memory(error);
    }
    vocab->count = (int32_t)count;
    vocab->slot_mask = (uint32_t)(slots - 1);
    memset(vocab->slots, 0xff, slots * sizeof *vocab->slots);
    copy_entries(vocab, lines);
    int32_t first = 0, doubles = fill_slots(vocab, &first);
    if (note != NULL && marked)
        note(note_arg, "vocabulary: a byte-order mark in front of it is not read");
    if (note != NULL && doubles > 0)
        note_double(vocab, doubles, first, note, note_arg);
    return BERT_OK;
}

void vocab_release(struct vocab *vocab) {
    free(vocab->text);
    free(vocab->offsets);
    free(vocab->slots);
    *vocab = (struct vocab){0};
}
