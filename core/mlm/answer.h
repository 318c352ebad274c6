/* SPDX-License-Identifier: MIT
 *
 * answer.h: what every way of answering masks shares: asking each mask of a passage
 * alike, and building a candidate from a word. */
#ifndef MLM_ANSWER_H
#define MLM_ANSWER_H

#include "mlm/passage.h"

/* Asks every mask, asks[i] the i-th (its row is set here), the others staying [MASK]: all
 * in one frame where they fit one, else each in its own, with a note. */
enum bert_status answer_ask(struct mlm *mlm, struct passage *passage, struct frame *frame,
                            struct ask *asks, struct bert_error *error);

/* Notes, once a passage, that a frame does not hold all of it. */
void answer_note_cut(struct passage *passage, struct mlm *mlm, const struct frame *frame);

/* The result's masks with offsets, candidates unset; NULL without memory. */
struct bert_mask *answer_masks(struct mlm *mlm, const struct passage *passage);

/* Sets word, probability and text; the ids are set. name is the vocabulary entry, whose
 * ## does not go into the text, or the listed word. False without memory. */
bool answer_candidate(struct bert_candidate *candidate, struct mlm *mlm,
                      const struct passage *passage, const struct mask_place *mask,
                      const char *name, double log_probability);

/* False, and the passage's error set, when so many answers cannot be built. */
bool answer_affordable(struct passage *passage, struct mlm *mlm, size_t masks,
                       size_t answers);

#endif
