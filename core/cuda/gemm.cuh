/* SPDX-License-Identifier: MIT
 *
 * gemm.cuh: y = x · wᵀ + bias on the tensor cores: half in, float sums. */
#ifndef CUDA_GEMM_CUH
#define CUDA_GEMM_CUH

#include "cuda/device.cuh"

enum gemm_output {
    GEMM_HALF,  /* y is half, the bias too */
    GEMM_FLOAT, /* y and the bias are float */
    GEMM_ADD,   /* y += ..., float */
};

struct gemm_job {
    const half *weight; /* (out, in) row-major */
    const void *bias;   /* (out) */
    const half *x;      /* (rows, in), rows apart by in */
    void *y;            /* (rows, out), rows apart by y_stride */
    int y_stride, rows, in, out;
    enum gemm_output output;
};

enum { GEMM_WORKSPACE = 16 << 20 };

struct gemm; /* of one stream; remembers the algorithm of each shape */

/* On failure *gemm may be set, for gemm_free. */
enum bert_status gemm_new(struct gemm **gemm, struct bert_error *error);
void gemm_free(struct gemm *gemm);
/* The first product of a shape may not be one that is captured: an algorithm is chosen.
 */
enum bert_status gemm_run(struct gemm *gemm, const struct gemm_job *job,
                          cudaStream_t stream, struct bert_error *error);

#endif
