/* SPDX-License-Identifier: MIT
 *
 * shares.h: what part of a list's probability each word has: p / baseline, divided by the
 * sum of that over the list. */
#ifndef MLM_SHARES_H
#define MLM_SHARES_H

#include "mlm/wordlist.h"

struct share {
    double log;    /* of p / baseline */
    uint32_t word; /* index in the list */
};

struct shares { /* the words that have a score, in the order of the list until sorted */
    struct share *list;
    size_t count;
    double log_sum; /* over the whole list */
};

/* Scores of words without one are NaN. In the arena; false without memory. */
bool shares_of(struct shares *shares, struct arena *arena, const struct bert_words *words,
               const double *scores);

/* Of the word that stands there; all of them sum to one. */
double shares_value(const struct shares *shares, size_t index);

/* Brings the best wanted to the front, by falling share, then in the order of the list.
 */
void shares_sort(struct shares *shares, size_t wanted);

/* Sums the shares by label into mask->labels; false without memory. */
bool shares_labels(const struct shares *shares, struct arena *arena,
                   const struct bert_words *words, struct bert_mask *mask);

#endif
