/* SPDX-License-Identifier: MIT
 *
 * fuzz_words.c: any bytes as a list of words, on the command line or in a file, as the
 * first byte chooses. A list that is taken has its words in order, and its tries lead to
 * every word once. */
#include "base/mapping.h"
#include "base/utf8.h"
#include "mlm/wordlist.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds)
        abort();
}

static const struct tokenizer *tokenizer_of(bool lower_case) {
    static struct tokenizer *tokenizers[2];
    static struct mapping vocabulary;
    struct tokenizer_options options = {lower_case, lower_case, true, NULL, NULL};
    if (vocabulary.data == NULL)
        require(mapping_open(&vocabulary, "data/vocab/bert-base-chinese-vocab.txt", false,
                             NULL) == BERT_OK);
    struct span bytes = {(const char *)vocabulary.data, vocabulary.size};
    if (tokenizers[lower_case] == NULL)
        require(tokenizer_new(&tokenizers[lower_case], bytes, &options, NULL) == BERT_OK);
    return tokenizers[lower_case];
}

static int compare_ids(const struct word *a, const struct word *b) {
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    for (int i = 0; i < a->count; i++)
        if (a->ids[i] != b->ids[i])
            return a->ids[i] < b->ids[i] ? -1 : 1;
    return 0;
}

static void check_words(const struct bert_words *words, const struct tokenizer *tokenizer,
                        size_t longest) {
    require(words->count > 0 && words->label_count <= WORDLIST_LABELS);
    for (size_t i = 0; i < words->count; i++) {
        const struct word *word = &words->words[i];
        size_t length = strlen(word->text);
        require(length > 0 && utf8_valid_prefix(word->text, length) == length);
        require(word->count > 0 && (size_t)word->count <= longest);
        require(word->label >= -1 && word->label < (int)words->label_count);
        require(i == 0 || compare_ids(word - 1, word) < 0);
        for (int j = 0; j < word->count; j++)
            require(word->ids[j] >= 0 && word->ids[j] < tokenizer_size(tokenizer) &&
                    word->ids[j] != tokenizer_special(tokenizer)->mask);
    }
}

/* What follows a node's prefix: words one deeper, or nodes that share its range out. */
static void check_node(const struct bert_words *words, const struct word_group *group,
                       const struct word_node *node) {
    const struct word *first = &words->words[node->low];
    bool leaf = node->depth + 1 == group->length;
    uint32_t low = node->low;
    require(node->low < node->high && node->high <= words->count && node->count > 0);
    for (uint32_t i = node->low; i < node->high; i++)
        require(words->words[i].count == group->length &&
                memcmp(words->words[i].ids, first->ids,
                       (size_t)node->depth * sizeof *first->ids) == 0);
    for (uint32_t i = 0; i < node->count; i++) {
        struct word_node child = {
            node->depth + 1, node->first + i, node->first + i + 1, 0, 0, NULL};
        if (!leaf) {
            require(node->first + i < group->end);
            child = words->nodes[node->first + i];
        }
        require(child.depth == node->depth + 1 && child.low == low);
        require(words->words[low].ids[node->depth] == node->listed[i]);
        require(i == 0 || node->listed[i - 1] < node->listed[i]);
        low = child.high;
    }
    require(low == node->high);
}

static void check_tries(const struct bert_words *words) {
    uint32_t word = 0, node = 0;
    for (size_t i = 0; i < words->group_count; i++) {
        const struct word_group *group = &words->groups[i];
        require(group->root == node && group->end > node);
        require(i == 0 || group[-1].length < group->length);
        require(words->nodes[node].low == word && words->nodes[node].depth == 0);
        word = words->nodes[node].high;
        for (; node < group->end; node++)
            check_node(words, group, &words->nodes[node]);
    }
    require(word == words->count && node == words->node_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct bert_words *words;
    struct bert_error error;
    if (size == 0)
        return 0;
    struct span list = {(const char *)data + 1, size - 1};
    const struct tokenizer *tokenizer = tokenizer_of(data[0] & 2);
    size_t longest = data[0] & 4 ? 3 : WORDLIST_LONGEST;
    enum bert_status status =
        wordlist_new(&words, tokenizer, longest, list, data[0] & 1, &error);
    if (status == BERT_OK) {
        check_words(words, tokenizer, longest);
        check_tries(words);
        wordlist_free(words);
    } else {
        require(status == BERT_USAGE && error.message[0] != '\0' && words == NULL);
    }
    return 0;
}
