/* SPDX-License-Identifier: MIT
 *
 * pass.h: what the parts of a forward pass share, and one operation of the kernel table
 * as a phase of the pool. */
#ifndef NN_PASS_H
#define NN_PASS_H

#include "base/pool.h"
#include "nn/batch.h"
#include "nn/workspace.h"

struct pass {
    const struct kernel_table *table;
    const struct weights *weights;
    struct pool *pool; /* NULL: this thread alone */
    struct workspace workspace;
};

/* Outputs begin..end of a linear layer, for all rows of the job, by its precision. begin
 * is a multiple of KERNEL_LINEAR_GRAIN. */
void pass_linear(struct pass *pass, const struct linear_job *job, size_t begin,
                 size_t end);
void pass_norm(struct pass *pass, const struct norm_job *job);
void pass_quantize(struct pass *pass, const struct quantize_job *job);
void pass_attention(struct pass *pass, const struct attention_job *job);
void pass_embed(struct pass *pass, const struct embed_job *job);

#endif
