/* SPDX-License-Identifier: MIT
 *
 * outcome.h: what the model said about one text, without the text: one block of memory,
 * counted by its users, so that a cache and several answers can share it. */
#ifndef SERVICE_OUTCOME_H
#define SERVICE_OUTCOME_H

#include "base/bytes.h"
#include "base/status.h"

struct outcome_candidate {
    const char *word, *label; /* label may be NULL */
    int32_t id;               /* of its first token */
    double probability, share;
};

struct outcome_mask {
    size_t position; /* of the mask in ids */
    const struct outcome_candidate *candidates;
    size_t count;
};

struct outcome {
    const struct outcome_mask *masks;
    size_t mask_count;
    const int32_t *ids; /* the whole text, [CLS] and [SEP] included */
    size_t id_count;
    bool words; /* from a word list: share counts, not probability */
};

/* A copy of a result that is BERT_OK; NULL without memory. The caller is its first user.
 */
struct outcome *outcome_new(const struct bert_result *result, bool words);
struct outcome *outcome_use(struct outcome *outcome); /* one user more */
void outcome_drop(struct outcome *outcome);           /* NULL is fine */

/* How sure of a candidate, as a fraction: its share of a word list, else its probability.
 */
double outcome_confidence(const struct outcome *outcome,
                          const struct outcome_candidate *candidate);

/* Lists of at most k (0: all) candidates in each published shape, appended as JSON. */

/* [{"word","confidence" in percent with two decimals}], with several masks a list of
 * them. */
void outcome_put_percent(struct buffer *out, const struct outcome *outcome, int k);
/* ["word", ...] or [0.5, ...], with several masks a list of them. */
void outcome_put_words(struct buffer *out, const struct outcome *outcome, int k);
void outcome_put_scores(struct buffer *out, const struct outcome *outcome, int k);
/* Hugging Face's fill-mask objects, with several masks a list of lists. */
enum bert_status outcome_put_fill_mask(struct buffer *out, const struct outcome *outcome,
                                       int k, struct bert_session *session,
                                       struct bert_error *error);

#endif
