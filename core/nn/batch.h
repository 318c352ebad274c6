/* SPDX-License-Identifier: MIT
 *
 * batch.h: token sequences of any length packed side by side, without padding, and what
 * is asked of them. */
#ifndef NN_BATCH_H
#define NN_BATCH_H

#include <stddef.h>
#include <stdint.h>

struct batch {
    size_t sequences, rows; /* rows = start[sequences] = tokens in all */
    const int32_t *ids;     /* (rows), [CLS] and [SEP] included; each in the vocabulary */
    const size_t *start;    /* (sequences + 1) */
};

/* One row whose token is to be predicted. Requests are sorted by row; a row may be asked
 * once only. */
struct request {
    size_t row; /* in the batch */
    int k;      /* best answers wanted; 0: none */
    const uint64_t
        *allowed; /* bit map over the vocabulary, or NULL: which ids may be best */
    const int32_t *listed; /* ids whose log probability is wanted */
    size_t listed_count;
};

struct scored {
    int32_t id;
    float log_probability; /* by the soft-max over the whole vocabulary */
};

struct reply {
    struct scored *best; /* room for k; by falling score, then rising id */
    int best_count;      /* fewer than k when fewer are allowed */
    float *listed;       /* room for listed_count */
    int finite;          /* 0: a logit was NaN or infinite; nothing else is set */
};

#endif
