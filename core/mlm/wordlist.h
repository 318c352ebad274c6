/* SPDX-License-Identifier: MIT
 *
 * wordlist.h: a user's list of words, with labels, cut into tokens and laid out as one
 * trie for each length. */
#ifndef MLM_WORDLIST_H
#define MLM_WORDLIST_H

#include "base/arena.h"
#include "text/tokenizer.h"

struct word {
    const char *text;
    const int32_t *ids;
    int count;
    int label;       /* index into labels, or -1 */
    double baseline; /* log probability that a share divides by; 0 without a baseline */
};

/* A proper prefix (the empty one is a root) of the words [low, high), which all begin
 * with its depth tokens: words[low].ids[0..depth). Its children are what may come next:
 * words, when depth is the length less one, else nodes; from first on, one for each
 * listed id. */
struct word_node {
    int depth;
    uint32_t low, high, first;
    uint32_t count;        /* children */
    const int32_t *listed; /* (count), rising */
};

struct word_group { /* words of one length; nodes lie breadth first, the root first */
    int length;
    uint32_t root, end; /* nodes */
};

struct bert_words {
    struct arena arena;
    struct word *words; /* by rising length, then ids */
    size_t count;
    const char **labels; /* in order of the list */
    size_t label_count;
    struct word_node *nodes;
    size_t node_count;
    struct word_group *groups;
    size_t group_count;
    bool divided; /* there is a baseline */
};

enum { WORDLIST_LONGEST = 64 /* tokens of a word */, WORDLIST_LABELS = 1000 };

/* list as bert_words_new describes; longest: tokens that a word may have, besides. Fails
 * with BERT_USAGE naming all words that are refused. */
enum bert_status wordlist_new(struct bert_words **words,
                              const struct tokenizer *tokenizer, size_t longest,
                              struct span list, bool lines, struct bert_error *error);
void wordlist_free(struct bert_words *words); /* NULL is fine */

#endif
