/* SPDX-License-Identifier: MIT
 *
 * tokenizer_bench VOCABULARY TEXT: tokenizes the lines of TEXT on one core for about a
 * second and prints how many tokens they have, and the best MB/s of a pass over them.
 * tokenizer_bench.py sets it beside Hugging Face's tokenizer. */
#include "base/mapping.h"
#include "text/tokenizer.h"

#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Returns the number of tokens, or 0. */
static size_t pass(const struct tokenizer *tokenizer, struct span text,
                   struct arena *arena) {
    size_t tokens = 0;
    for (const char *at = text.data, *end = text.data + text.size; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        struct token_list list;
        if (stop == NULL)
            stop = end;
        arena_reset(arena);
        if (tokenizer_run(tokenizer, at, (size_t)(stop - at), NULL, arena, &list, NULL) !=
            BERT_OK)
            return 0;
        tokens += list.count;
        at = stop + 1;
    }
    return tokens;
}

int main(int argc, char **argv) {
    struct mapping vocabulary, file;
    struct tokenizer *tokenizer;
    struct tokenizer_options options = {false, false, true, NULL, NULL};
    struct bert_error error;
    if (argc != 3 || mapping_open(&vocabulary, argv[1], false, &error) != BERT_OK ||
        mapping_open(&file, argv[2], false, &error) != BERT_OK) {
        fprintf(stderr, "usage: tokenizer_bench VOCABULARY TEXT\n");
        return 2;
    }
    double start = now();
    if (tokenizer_new(&tokenizer,
                      (struct span){(const char *)vocabulary.data, vocabulary.size},
                      &options, &error) != BERT_OK) {
        fprintf(stderr, "tokenizer_bench: %s\n", error.message);
        return 3;
    }
    double opened = now() - start, best = 1e9;
    struct span text = {(const char *)file.data, file.size};
    struct arena arena;
    size_t tokens = 0;
    arena_init(&arena);
    for (double begin = now(); now() - begin < 1;) {
        double before = now();
        tokens = pass(tokenizer, text, &arena);
        if (now() - before < best)
            best = now() - before;
    }
    printf("%zu tokens, %.1f MB/s, opened in %.2f ms\n", tokens,
           (double)text.size / best / 1e6, opened * 1e3);
    arena_release(&arena);
    tokenizer_free(tokenizer);
    mapping_close(&file);
    mapping_close(&vocabulary);
    return 0;
}
