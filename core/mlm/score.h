/* SPDX-License-Identifier: MIT
 *
 * score.h: pseudo-log-likelihood: each token of a text masked once, the log probability
 * of what stands there summed; and the characters that another would suit much better. */
#ifndef MLM_SCORE_H
#define MLM_SCORE_H

#include "mlm/passage.h"

/* bert.h describes options and scores, which live in mlm->results. */
enum bert_status score_texts(struct mlm *mlm, const struct bert_text *texts, size_t count,
                             const struct bert_score_options *options,
                             struct bert_score *scores, struct bert_error *error);

#endif
