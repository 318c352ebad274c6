/* SPDX-License-Identifier: MIT
 *
 * pass.cuh: one forward pass over a planned batch. The launches cover a bucket of sizes; the
 * true sizes travel with the plan, and kernels skip what the bucket has too much.
 *
 * Zones of device memory, R = rows that a batch may have, H hidden, I intermediate:
 *   hidden   float (R, H)    the residual stream      picked_hidden  of requested rows
 *   input    half  (R, H)    what the next layer reads  picked_input   of requested rows
 *   qkv      half  (R, 3H)   queries, keys, values
 *   context  half  (R, H)
 *   up       half  (R, I)    its GELU
 *   wide     float (R, I)    the up product, not rounded before its GELU; later the
 *            float (PASS_LOGITS, vocabulary) logits */
#ifndef CUDA_PASS_CUH
#define CUDA_PASS_CUH

#include "cuda/device_weights.cuh"

struct gemm;
struct plan;

enum { PASS_LOGITS = 256 };

struct zones {
    float *hidden, *picked_hidden, *wide;
    half *input, *picked_input, *qkv, *context, *up;
};

struct bucket { /* sizes that a launch covers */
    int rows, sequences, requests;
    int longest, queries; /* keys and queries of one sequence */
    int best_stride;
};

struct pass {
    const struct device_weights *weights;
    const struct zones *zones;
    struct gemm *gemm;
    cudaStream_t stream;
    size_t shared_limit; /* bytes of shared memory that a block may have */
    const struct plan *plan;
    struct bucket bucket;
    struct bert_error *error;
};

/* Lays the zones from base on, for batches of that many rows; returns their bytes. With a
 * base of NULL it only counts. */
size_t pass_zones(struct zones *zones, char *base, const struct model_config *config,
                  int rows);

/* Sends the plan, runs the bucket, fetches the answers; all on the stream, waits for
 * nothing. whole: copies whole arrays (a graph's copies have one size). */
enum bert_status pass_run(struct pass *pass, bool whole);

#endif
