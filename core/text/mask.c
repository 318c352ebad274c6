/* SPDX-License-Identifier: MIT
 *
 * mask.c: masks by their id, and a guess at what else was meant as one. */
#include "text/mask.h"

enum bert_status mask_find(const struct tokenizer *tokenizer,
                           const struct token_list *tokens, struct arena *arena,
                           struct mask_list *masks, struct bert_error *error) {
    int32_t mask = tokenizer_special(tokenizer)->mask;
    *masks = (struct mask_list){0};
    size_t count = 0;
    for (size_t i = 0; i < tokens->count; i++)
        count += tokens->ids[i] == mask;
    if (count == 0)
        return BERT_OK;
    masks->places = arena_array(arena, count, sizeof *masks->places);
    if (masks->places == NULL)
        return error_memory(error);
    for (size_t i = 0; i < tokens->count; i++)
        if (tokens->ids[i] == mask)
            masks->places[masks->count++] =
                (struct mask_place){i, tokens->starts[i], tokens->ends[i]};
    return BERT_OK;
}

/* Length of the first of the words that rest starts with, or 0. */
static size_t starts_with(struct span rest, const char *const *words) {
    for (; *words != NULL; words++) {
        size_t size = strlen(*words);
        if (size <= rest.size && memcmp(rest.data, *words, size) == 0)
            return size;
    }
    return 0;
}

static struct span skip(struct span rest, size_t size) {
    return (struct span){rest.data + size, rest.size - size};
}

static struct span skip_all(struct span rest, const char *const *words) {
    size_t size;
    while ((size = starts_with(rest, words)) > 0)
        rest = skip(rest, size);
    return rest;
}

/* Length of something like [MASK] at the start of rest, or 0. */
static size_t lookalike_size(struct span rest) {
    static const char *const open[] = {"[", "［", "【", "<", "＜", "〈", "《", "{", NULL};
    static const char *const close[] = {"]",  "］", "】", ">", "＞",
                                        "〉", "》", "}",  NULL};
    static const char *const blank[] = {" ", "\t", "\u3000", "_", NULL};
    static const char *const letters[][5] = {{"m", "M", "ｍ", "Ｍ", NULL},
                                             {"a", "A", "ａ", "Ａ", NULL},
                                             {"s", "S", "ｓ", "Ｓ", NULL},
                                             {"k", "K", "ｋ", "Ｋ", NULL}};
    const char *start = rest.data;
    size_t size = starts_with(rest, open);
    if (size == 0)
        return 0;
    rest = skip_all(skip(rest, size), blank);
    for (size_t i = 0; i < 4; i++) {
        size = starts_with(rest, letters[i]);
        if (size == 0)
            return 0;
        rest = skip(rest, size);
    }
    rest = skip_all(rest, blank);
    size = starts_with(rest, close);
    return size == 0 ? 0 : (size_t)(rest.data - start) + size;
}

struct span mask_lookalike(const char *text, size_t size) {
    for (size_t at = 0; at < size; at++) {
        struct span found = {text + at,
                             lookalike_size((struct span){text + at, size - at})};
        if (found.size > 0 && !span_equal(found, span_of("[MASK]")))
            return found;
    }
    return (struct span){text, 0};
}

enum bert_status mask_missing(const char *text, size_t size, struct bert_error *error) {
    struct span found = mask_lookalike(text, size);
    if (found.size == 0 || found.size > 60)
        return error_set(error, BERT_RECORD, "no [MASK] in the text");
    return error_set(error, BERT_RECORD,
                     "no [MASK] in the text: %.*s is not one, write [MASK]",
                     (int)found.size, found.data);
}
