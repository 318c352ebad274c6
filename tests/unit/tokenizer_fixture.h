/* SPDX-License-Identifier: MIT
 *
 * tokenizer_fixture.h: both tokenizers of the bert-base-chinese vocabulary, and their
 * tokens as one blank-separated line. */
#ifndef TESTS_TOKENIZER_FIXTURE_H
#define TESTS_TOKENIZER_FIXTURE_H

#include "base/mapping.h"
#include "text/tokenizer.h"

#include <check.h>

static struct mapping vocabulary;
static struct tokenizer *tokenizers[2]; /* by lower_case */
static struct arena arena;

static inline struct tokenizer *fixture_tokenizer(bool lower, bool strip, bool split) {
    struct tokenizer_options options = {lower, strip, split, NULL, NULL};
    struct span lines = {(const char *)vocabulary.data, vocabulary.size};
    struct tokenizer *tokenizer = NULL;
    struct bert_error error;
    ck_assert_msg(tokenizer_new(&tokenizer, lines, &options, &error) == BERT_OK, "%s",
                  error.message);
    return tokenizer;
}

static inline void fixture_begin(void) {
    ck_assert_int_eq(
        mapping_open(&vocabulary, "data/vocab/bert-base-chinese-vocab.txt", false, NULL),
        BERT_OK);
    for (int lower = 0; lower < 2; lower++)
        tokenizers[lower] = fixture_tokenizer(lower, lower, true);
    arena_init(&arena);
}

static inline void fixture_end(void) {
    arena_release(&arena);
    for (int lower = 0; lower < 2; lower++)
        tokenizer_free(tokenizers[lower]);
    mapping_close(&vocabulary);
}

static inline struct token_list fixture_run(const struct tokenizer *tokenizer,
                                            const char *text, size_t size,
                                            const struct tokenize_options *options) {
    struct token_list list;
    if (tokenizer_run(tokenizer, text, size, options, &arena, &list, NULL) != BERT_OK)
        ck_abort_msg(
            "tokenizer_run failed"); /* an assertion that holds is slow in Check */
    return list;
}

static inline const char *fixture_line(const struct tokenizer *tokenizer,
                                       const struct token_list *list) {
    struct buffer line = {0};
    for (size_t i = 0; i < list->count; i++) {
        buffer_add_text(&line, i > 0 ? " " : "");
        buffer_add_text(&line, tokenizer_entry(tokenizer, list->ids[i]));
    }
    const char *copy = arena_text(&arena, line.data, line.size);
    buffer_release(&line);
    return copy;
}

#endif
