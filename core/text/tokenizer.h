/* SPDX-License-Identifier: MIT
 *
 * tokenizer.h: Hugging Face's fast BertTokenizer: special tokens found in the raw text,
 * then normalised, split and cut into word pieces, with byte offsets into
 * the original. */
#ifndef TEXT_TOKENIZER_H
#define TEXT_TOKENIZER_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"

struct tokenizer; /* immutable, shared by threads */

struct tokenizer_options {
    bool lower_case, strip_accents, split_chinese;
    void (*note)(void *arg, const char *line); /* a BOM, a token twice */
    void *note_arg;
};

/* vocabulary: the bytes of vocab.txt, split at 0x0A only, a CR at a line's end dropped;
 * kept by the caller as long as the tokenizer lives. */
enum bert_status tokenizer_new(struct tokenizer **tokenizer, struct span vocabulary,
                               const struct tokenizer_options *options,
                               struct bert_error *error);
void tokenizer_free(struct tokenizer *tokenizer);

int32_t tokenizer_size(const struct tokenizer *tokenizer); /* entries */
/* The entry of an id as a NUL-terminated string, NULL out of range. */
const char *tokenizer_entry(const struct tokenizer *tokenizer, int32_t id);
/* The id of an entry (the last, where it stands twice), or -1. */
int32_t tokenizer_id(const struct tokenizer *tokenizer, struct span entry);

struct special_ids {
    int32_t pad, unknown, cls, sep, mask;
};
const struct special_ids *tokenizer_special(const struct tokenizer *tokenizer);

/* Per id, whether it is ...; bit map of (size + 63) / 64 words. */
enum entry_class {
    ENTRY_SPECIAL,     /* [PAD] [UNK] [CLS] [SEP] [MASK] */
    ENTRY_UNUSED,      /* [unusedN] and other bracketed entries, <S>, <T> */
    ENTRY_HAN,         /* only Han characters, ## allowed */
    ENTRY_PUNCTUATION, /* only punctuation and symbols */
    ENTRY_PIECE,       /* starts with ## */
    ENTRY_CLASSES
};
const uint64_t *tokenizer_class(const struct tokenizer *tokenizer,
                                enum entry_class which);

struct token_list { /* arrays in the arena */
    size_t count, unknown;
    int32_t *ids;
    size_t *starts, *ends; /* bytes of the original text */
};

struct tokenize_options {
    bool literal;                   /* special tokens are plain characters */
    const char *const *mask_tokens; /* more spellings of [MASK], found as it is */
    size_t mask_token_count;
};

/* Appends no [CLS] or [SEP]. text must be valid UTF-8. options may be NULL. */
enum bert_status tokenizer_run(const struct tokenizer *tokenizer, const char *text,
                               size_t size, const struct tokenize_options *options,
                               struct arena *arena, struct token_list *tokens,
                               struct bert_error *error);

/* Ids to text as Hugging Face decodes: " ##" joined and, with clean_up, its English
 * blanks before . , ! ? and contractions removed. */
enum bert_status tokenizer_decode(const struct tokenizer *tokenizer, const int32_t *ids,
                                  size_t count, bool skip_special, bool clean_up,
                                  struct buffer *out, struct bert_error *error);

#endif
