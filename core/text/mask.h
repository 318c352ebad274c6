/* SPDX-License-Identifier: MIT
 *
 * mask.h: the masks of a user's text, and what to say when there is none. */
#ifndef TEXT_MASK_H
#define TEXT_MASK_H

#include "text/tokenizer.h"

struct mask_place {
    size_t token;      /* index in the token list */
    size_t start, end; /* bytes of the text */
};

struct mask_list { /* in the arena, in order of the text */
    size_t count;
    struct mask_place *places;
};

enum bert_status mask_find(const struct tokenizer *tokenizer,
                           const struct token_list *tokens, struct arena *arena,
                           struct mask_list *masks, struct bert_error *error);

/* The first thing that was probably meant as a mask and is none: 【MASK】 ［MASK］ <mask>
 * [mask] [ MASK ] and the like. Leads into text; size 0 when there is nothing such. */
struct span mask_lookalike(const char *text, size_t size);

/* BERT_RECORD: no mask in the text, with the hint that mask_lookalike gives. */
enum bert_status mask_missing(const char *text, size_t size, struct bert_error *error);

#endif
