/* SPDX-License-Identifier: MIT
 *
 * workspace.h: all the memory of a forward pass, one allocation a worker, made once.
 *
 *     +---------------+  64-byte aligned, as each zone is
 *     | hidden        |  (rows, hidden) float: the residual stream
 *     +---------------+
 *     | qkv     |  up |  (rows, 3 hidden) float: queries, keys, values; then context
 *     | context |     |  (rows, hidden); the same memory is up (feed_rows, intermediate)
 *     +---------------+
 *     | narrow, broad |  (rows, hidden) and (feed_rows, intermediate) bytes, each with
 *     |               |  scale and zero a row; int8 only
 *     +---------------+
 *     | positions     |  (rows) uint32
 *     | query_start   |  (rows + 1) size_t
 *     +---------------+
 *     | logits        |  (LOGIT_ROWS, vocabulary) float
 *     +---------------+
 *
 * Row strides are padded so that consecutive rows do not fall on one set of the cache. */
#ifndef NN_WORKSPACE_H
#define NN_WORKSPACE_H

#include "base/status.h"
#include "kernel/kernel.h"

enum { LOGIT_ROWS = 32 }; /* requests whose logits are held at once */

struct workspace {
    void *memory;
    size_t rows;      /* greatest batch */
    size_t feed_rows; /* rows that go through the wide layers together */
    float *hidden;
    size_t hidden_stride; /* also of context */
    float *qkv, *context;
    size_t qkv_stride;
    float *up;
    size_t up_stride;
    struct quantized narrow, broad;
    uint32_t *positions;
    size_t *query_start;
    float *logits;
    size_t logit_stride;
};

enum bert_status workspace_init(struct workspace *workspace,
                                const struct weights *weights, size_t rows,
                                size_t feed_rows, struct bert_error *error);
void workspace_release(struct workspace *workspace);

#endif
