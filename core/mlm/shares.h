/* SPDX-License-Identifier: MIT
 *
 * shares.h: what part of a list's probability each word has: p / baseline, divided by the
 * sum of that over the list. */
#ifndef MLM_SHARES_H
#define MLM_SHARES_H

#include "mlm/wordlist.h"

struct share {
    double log_share;
    uint32_t word; /* index in the list */
};

/* The words that have a score (the others' is NaN), in the order of the list; their
 * shares sum to one. In the arena; NULL without memory. */
struct share *shares_of(struct arena *arena, const struct bert_words *words,
                        const double *scores, size_t *count);

/* Brings the best wanted to the front, by falling share, then in the order of the list.
 */
void shares_sort(struct share *list, size_t count, size_t wanted);

/* Sums the shares by label into mask->labels; false without memory. */
bool shares_labels(struct arena *arena, const struct bert_words *words,
                   const struct share *list, size_t count, struct bert_mask *mask);

#endif
