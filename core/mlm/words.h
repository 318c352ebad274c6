/* SPDX-License-Identifier: MIT
 *
 * words.h: masks answered by a list of words alone. The proper prefixes of all words are
 * known beforehand, so that each is one sequence of one packed batch; long lists without
 * a baseline go best first and leave out what cannot matter. */
#ifndef MLM_WORDS_H
#define MLM_WORDS_H

#include "mlm/passage.h"
#include "mlm/wordlist.h"

/* Scores every word in the one mask of a text; later shares divide by that. */
enum bert_status words_baseline(struct bert_words *words, struct mlm *mlm,
                                struct span text, struct bert_error *error);

/* Answers passages without an error by options->words. */
enum bert_status words_fill(struct mlm *mlm, struct passage *passages, size_t count,
                            const struct bert_fill_options *options,
                            struct bert_result *results, struct bert_error *error);

#endif
