/* SPDX-License-Identifier: MIT
 *
 * gemm_host.cpp: the matrix product of the emulated device, in place of cuBLASLt. */
#include "cuda/gemm.cuh"

struct gemm {
    int unused;
};

enum bert_status gemm_new(struct gemm **gemm, struct bert_error *error) {
    *gemm = (struct gemm *)calloc(1, sizeof **gemm);
    return *gemm == NULL ? error_memory(error) : BERT_OK;
}

void gemm_free(struct gemm *gemm) {
    free(gemm);
}

static float dot(const float *w, const half *x, int n) {
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += w[k] * __half2float(x[k]);
    return sum;
}

enum bert_status gemm_run(struct gemm *, const struct gemm_job *job, cudaStream_t,
                          struct bert_error *) {
    std::vector<float> w((size_t)job->in);
    for (int o = 0; o < job->out; o++) {
        for (int k = 0; k < job->in; k++)
            w[(size_t)k] = __half2float(job->weight[(size_t)o * job->in + k]);
        for (int row = 0; row < job->rows; row++) {
            size_t at = (size_t)row * job->y_stride + o;
            float y = dot(w.data(), job->x + (size_t)row * job->in, job->in);
            if (job->output == GEMM_HALF)
                ((half *)job->y)[at] =
                    __float2half_rn(y + __half2float(((const half *)job->bias)[o]));
            else
                ((float *)job->y)[at] =
                    y + ((const float *)job->bias)[o] +
                    (job->output == GEMM_ADD ? ((float *)job->y)[at] : 0);
        }
    }
    return BERT_OK;
}
