/* SPDX-License-Identifier: MIT
 *
 * tokenizer.c: special tokens are found in the raw text first; the stretches between them
 * go through the character map, one look-up a character, and their words to wordpiece. */
#include "text/tokenizer.h"

#include "text/charmap.h"
#include "text/cluster.h"
#include "text/entries.h"
#include "text/vocab.h"
#include "text/wordpiece.h"

#include <stdlib.h>

struct special {
    struct span text;
    int32_t id;
};

enum { SPECIALS = 5 };

struct tokenizer {
    struct vocab vocab;
    struct charmap map;
    struct special_ids ids;
    struct special specials[SPECIALS]; /* those that the vocabulary has */
    size_t special_count;
    uint64_t *classes[ENTRY_CLASSES];
};

/* ---- Opening ---------------------------------------------------------------------- */

static enum bert_status find_specials(struct tokenizer *tokenizer,
                                      struct bert_error *error) {
    struct special_ids *ids = &tokenizer->ids;
    const struct {
        const char *text;
        int32_t *id;
    } all[SPECIALS] = {{"[PAD]", &ids->pad},
                       {"[UNK]", &ids->unknown},
                       {"[CLS]", &ids->cls},
                       {"[SEP]", &ids->sep},
                       {"[MASK]", &ids->mask}};
    for (size_t i = 0; i < SPECIALS; i++) {
        struct span text = span_of(all[i].text);
        *all[i].id = vocab_find(&tokenizer->vocab, text);
        if (*all[i].id >= 0)
            tokenizer->specials[tokenizer->special_count++] =
                (struct special){text, *all[i].id};
        else if (all[i].id != &ids->pad)
            return error_set(error, BERT_MODEL, "the vocabulary has no %s", all[i].text);
    }
    return BERT_OK;
}

enum bert_status tokenizer_new(struct tokenizer **result, struct span vocabulary,
                               const struct tokenizer_options *options,
                               struct bert_error *error) {
    struct charmap_settings settings = {options->lower_case, options->strip_accents,
                                        options->split_chinese};
    struct tokenizer *tokenizer = calloc(1, sizeof *tokenizer);
    if (tokenizer == NULL)
        return error_memory(error);
    enum bert_status status = vocab_init(&tokenizer->vocab, vocabulary, options->note,
                                         options->note_arg, error);
    if (status == BERT_OK)
        status = find_specials(tokenizer, error);
    if (status == BERT_OK &&
        (!charmap_init(&tokenizer->map, &settings, &tokenizer->vocab,
                       tokenizer->ids.unknown) ||
         !entries_classify(tokenizer->classes, &tokenizer->vocab, &tokenizer->ids)))
        status = error_memory(error);
    if (status != BERT_OK) {
        tokenizer_free(tokenizer);
        return status;
    }
    *result = tokenizer;
    return BERT_OK;
}

void tokenizer_free(struct tokenizer *tokenizer) {
    if (tokenizer == NULL)
        return;
    for (size_t i = 0; i < ENTRY_CLASSES; i++)
        free(tokenizer->classes[i]);
    charmap_release(&tokenizer->map);
    vocab_release(&tokenizer->vocab);
    free(tokenizer);
}

int32_t tokenizer_size(const struct tokenizer *tokenizer) {
    return tokenizer->vocab.count;
}

const char *tokenizer_entry(const struct tokenizer *tokenizer, int32_t id) {
    if (id < 0 || id >= tokenizer->vocab.count)
        return NULL;
    return vocab_entry(&tokenizer->vocab, id).data;
}

int32_t tokenizer_id(const struct tokenizer *tokenizer, struct span entry) {
    return vocab_find(&tokenizer->vocab, entry);
}

const struct special_ids *tokenizer_special(const struct tokenizer *tokenizer) {
    return &tokenizer->ids;
}

const uint64_t *tokenizer_class(const struct tokenizer *tokenizer,
                                enum entry_class which) {
    return tokenizer->classes[which];
}

/* ---- Running ---------------------------------------------------------------------- */

struct run {
    const struct tokenizer *tokenizer;
    const struct tokenize_options *options;
    struct span text;
    bool starts[256]; /* bytes that a special token starts with */
    struct wordpiece words;
    struct cluster cluster;
};

static void run_init(struct run *run) {
    const struct tokenize_options *options = run->options;
    memset(run->starts, 0, sizeof run->starts);
    if (options->literal)
        return;
    for (size_t i = 0; i < run->tokenizer->special_count; i++)
        run->starts[(unsigned char)run->tokenizer->specials[i].text.data[0]] = true;
    for (size_t i = 0; i < options->mask_token_count; i++)
        if (options->mask_tokens[i][0] != '\0')
            run->starts[(unsigned char)options->mask_tokens[i][0]] = true;
}

static void match(struct span rest, struct special candidate, struct special *best) {
    struct span text = candidate.text;
    if (text.size > best->text.size && text.size <= rest.size &&
        memcmp(rest.data, text.data, text.size) == 0)
        *best = candidate;
}

/* The longest special token at a place, or one of size 0. Of equal ones the user's mask
 * comes first. */
static struct special special_at(const struct run *run, size_t at) {
    const struct tokenizer *tokenizer = run->tokenizer;
    struct special best = {{"", 0}, -1};
    struct span rest = {run->text.data + at, run->text.size - at};
    for (size_t i = 0; i < run->options->mask_token_count; i++)
        match(
            rest,
            (struct special){span_of(run->options->mask_tokens[i]), tokenizer->ids.mask},
            &best);
    for (size_t i = 0; i < tokenizer->special_count; i++)
        match(rest, tokenizer->specials[i], &best);
    return best;
}

/* The first special token from at on; of size 0, at the end, where there is none. */
static size_t next_special(const struct run *run, size_t at, struct special *found) {
    const char *text = run->text.data;
    *found = (struct special){{"", 0}, -1};
    if (run->options->literal)
        return run->text.size;
    for (; at < run->text.size; at++) {
        if (run->options->mask_token_count == 0) {
            const char *bracket = memchr(text + at, '[', run->text.size - at);
            if (bracket == NULL)
                break;
            at = (size_t)(bracket - text);
        } else if (!run->starts[(unsigned char)text[at]]) {
            continue;
        }
        *found = special_at(run, at);
        if (found->text.size > 0)
            return at;
    }
    return run->text.size;
}

/* Characters that the slow path made are final: nothing maps or drops them again. */
static void add_cluster(struct run *run) {
    for (size_t i = 0; i < run->cluster.count; i++) {
        struct cluster_item item = run->cluster.items[i];
        uint32_t cell = charmap_cell(&run->tokenizer->map, item.codepoint);
        if (cell >> CHARMAP_SHIFT == CHARMAP_ALONE) {
            wordpiece_flush(&run->words);
            wordpiece_emit(&run->words, (int32_t)(cell & CHARMAP_PAYLOAD), item.start,
                           item.end);
        } else {
            wordpiece_add(&run->words, item.codepoint, item.start, item.end);
        }
    }
}

static bool run_stretch(struct run *run, size_t at, size_t end) {
    const struct charmap *map = &run->tokenizer->map;
    struct wordpiece *words = &run->words;
    while (at < end) {
        size_t length;
        uint32_t codepoint = charmap_decode(run->text.data + at, end - at, &length);
        uint32_t cell = charmap_cell(map, codepoint), payload = cell & CHARMAP_PAYLOAD;
        size_t next = at + length;
        switch (cell >> CHARMAP_SHIFT) {
        case CHARMAP_WORD:
            wordpiece_add(words, codepoint ^ payload, at, next);
            break;
        case CHARMAP_ALONE:
            wordpiece_flush(words);
            wordpiece_emit(words, (int32_t)payload, at, next);
            break;
        case CHARMAP_BLANK:
            wordpiece_flush(words);
            break;
        case CHARMAP_SLOW:
            next =
                cluster_read(&run->cluster, map, run->text.data, at, end, words->arena);
            if (next == 0)
                return false;
            add_cluster(run);
            break;
        default:
            break;
        }
        at = next;
    }
    wordpiece_flush(words);
    return !words->failed;
}

enum bert_status tokenizer_run(const struct tokenizer *tokenizer, const char *text,
                               size_t size, const struct tokenize_options *options,
                               struct arena *arena, struct token_list *tokens,
                               struct bert_error *error) {
    static const struct tokenize_options plain = {0};
    struct run run;
    run.tokenizer = tokenizer;
    run.options = options != NULL ? options : &plain;
    run.text = (struct span){text, size};
    run_init(&run);
    cluster_init(&run.cluster);
    wordpiece_init(&run.words, &tokenizer->vocab, tokenizer->ids.unknown, tokens, size,
                   arena);
    for (size_t at = 0; at < size;) {
        struct special special;
        size_t place = next_special(&run, at, &special);
        if (!run_stretch(&run, at, place))
            return error_memory(error);
        if (special.text.size > 0)
            wordpiece_emit(&run.words, special.id, place, place + special.text.size);
        at = place + special.text.size;
    }
    return run.words.failed ? error_memory(error) : BERT_OK;
}
