/* SPDX-License-Identifier: MIT
 *
 * topk.h: the best of many scores. */
#ifndef NN_TOPK_H
#define NN_TOPK_H

#include "kernel/kernel.h"
#include "nn/batch.h"

/* The k greatest of the n finite scores whose bit in allowed is set (NULL: all), by
 * falling score, then rising id, into best; log_probability receives the score. Returns
 * how many, fewer than k when fewer are allowed. */
int topk_select(const struct kernel_table *table, const float *scores, size_t n,
                const uint64_t *allowed, int k, struct scored *best);

#endif
