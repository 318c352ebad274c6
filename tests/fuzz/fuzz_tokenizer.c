/* SPDX-License-Identifier: MIT
 *
 * fuzz_tokenizer.c: any bytes as text, in every setting, and as a vocabulary. The first
 * byte chooses; what must hold of every answer is checked. */
#include "base/mapping.h"
#include "text/mask.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct tokenizer *tokenizers[8]; /* by settings */

static void require(bool holds) {
    if (!holds)
        abort();
}

static struct tokenizer_options options_of(unsigned settings) {
    return (struct tokenizer_options){settings & 1, settings & 2, settings & 4, NULL,
                                      NULL};
}

static const struct tokenizer *tokenizer_of(unsigned settings) {
    static struct mapping vocabulary;
    struct tokenizer_options options = options_of(settings);
    if (vocabulary.data == NULL)
        require(mapping_open(&vocabulary, "data/vocab/bert-base-chinese-vocab.txt", false,
                             NULL) == BERT_OK);
    if (tokenizers[settings] == NULL)
        require(
            tokenizer_new(&tokenizers[settings],
                          (struct span){(const char *)vocabulary.data, vocabulary.size},
                          &options, NULL) == BERT_OK);
    return tokenizers[settings];
}

static void check_text(const struct tokenizer *tokenizer, struct span text,
                       bool literal) {
    static const char *const aliases[] = {"【MASK】", "_"};
    struct tokenize_options options = {literal, aliases, 2};
    struct token_list list;
    struct mask_list masks;
    struct buffer decoded = {0};
    struct arena arena;
    arena_init(&arena);
    require(tokenizer_run(tokenizer, text.data, text.size, &options, &arena, &list,
                          NULL) == BERT_OK);
    size_t unknown = 0;
    for (size_t i = 0; i < list.count; i++) {
        require(list.ids[i] >= 0 && list.ids[i] < tokenizer_size(tokenizer));
        require(list.starts[i] < list.ends[i] && list.ends[i] <= text.size);
        require(i == 0 || list.starts[i] >= list.starts[i - 1]);
        unknown += list.ids[i] == tokenizer_special(tokenizer)->unknown;
    }
    require(unknown == list.unknown);
    require(mask_find(tokenizer, &list, &arena, &masks, NULL) == BERT_OK);
    require(!literal || masks.count == 0);
    struct span like = mask_lookalike(text.data, text.size);
    require(like.data >= text.data && like.data + like.size <= text.data + text.size);
    require(tokenizer_decode(tokenizer, list.ids, list.count, literal, true, &decoded,
                             NULL) == BERT_OK);
    buffer_release(&decoded);
    arena_release(&arena);
}

/* The bytes as the lines of a vocabulary, and then as a text for it. */
static void check_vocabulary(struct span lines, unsigned settings) {
    static const char needed[] = "[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
    struct tokenizer_options options = options_of(settings);
    struct tokenizer *tokenizer;
    struct buffer whole = {0};
    buffer_add_text(&whole, needed);
    buffer_add(&whole, lines.data, lines.size);
    enum bert_status status =
        tokenizer_new(&tokenizer, (struct span){whole.data, whole.size}, &options, NULL);
    require(status == BERT_OK || status == BERT_MODEL);
    if (status == BERT_OK) {
        check_text(tokenizer, lines, true);
        tokenizer_free(tokenizer);
    }
    buffer_release(&whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    struct span text = {(const char *)data + 1, size - 1};
    if (data[0] & 16)
        check_vocabulary(text, data[0] & 7);
    else
        check_text(tokenizer_of(data[0] & 7), text, data[0] & 8);
    return 0;
}
