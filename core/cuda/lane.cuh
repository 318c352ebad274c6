/* SPDX-License-Identifier: MIT
 *
 * lane.cuh: one stream with all its buffers; runs one batch at a time. Two lanes let the
 * copies and the host's work for one batch lie under the products of the other. */
#ifndef CUDA_LANE_CUH
#define CUDA_LANE_CUH

#include "cuda/device_weights.cuh"

extern "C" {
#include "nn/batch.h"
}

enum { LANE_ROWS = 3072, LANE_LEAST_ROWS = 512 };

struct lane;

/* Fails with BERT_INTERNAL when the device has no room. */
enum bert_status lane_new(struct lane **lane, const struct device_weights *weights,
                          int rows, size_t shared_limit, struct bert_error *error);
void lane_free(struct lane *lane);

/* One pass over next to nothing: whether the device can do it at all. *graphs: whether
 * small batches are one launch each from now on; without, they take longer. */
enum bert_status lane_try(struct lane *lane, bool *graphs, struct bert_error *error);

/* A batch without defects (backend_defect) for the lane's rows; count at least 1. When
 * it returns the lane's stream is idle, whatever the status. */
enum bert_status lane_forward(struct lane *lane, const struct batch *batch,
                              const struct request *requests, size_t count,
                              struct reply *replies, struct bert_error *error);

#endif
