/* SPDX-License-Identifier: MIT
 *
 * beam.h: the best whole fillings of several masks, or of masks that stand for several
 * tokens, by the left-to-right score log p = Σ log p(token | the ones to its left in
 * place, all others masked).
 *
 * One slot: the k best tokens. Two slots: first tokens are expanded in falling
 * probability until that alone is below the k-th best total, which is exact since a
 * conditional is at most 1; at most 256 of them. More slots: a beam of max(16, 2k). */
#ifndef MLM_BEAM_H
#define MLM_BEAM_H

#include "mlm/passage.h"

enum {
    BEAM_K = 256,          /* most fillings that may be asked for */
    BEAM_SPAN = 8,         /* most tokens that a mask may stand for */
    BEAM_COMBINATIONS = 64 /* most combinations of lengths, each searched separately */
};

/* Answers passages without an error; filters as in filter.h. */
enum bert_status beam_fill(struct mlm *mlm, struct passage *passages, size_t count,
                           const struct bert_fill_options *options, unsigned filters,
                           struct bert_result *results, struct bert_error *error);

#endif
