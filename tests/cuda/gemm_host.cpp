/* SPDX-License-Identifier: MIT
 *
 * gemm_host.cpp: the matrix product of the emulated device, in place of cuBLASLt: with
 * its workspace, and with its habit of refusing to choose an algorithm while the stream
 * is captured. */
#include "cuda/gemm.cuh"

#include <set>
#include <tuple>

struct gemm {
    void *workspace;
    std::set<std::tuple<int, int, int>> *chosen;
};

enum bert_status gemm_new(struct gemm **gemm, struct bert_error *error) {
    *gemm = (struct gemm *)calloc(1, sizeof **gemm);
    if (*gemm == NULL)
        return error_memory(error);
    (*gemm)->chosen = new std::set<std::tuple<int, int, int>>;
    CUDA_TRY(cudaMalloc(&(*gemm)->workspace, GEMM_WORKSPACE), error);
    return BERT_OK;
}

void gemm_free(struct gemm *gemm) {
    if (gemm == NULL)
        return;
    cudaFree(gemm->workspace);
    delete gemm->chosen;
    free(gemm);
}

static float dot(const float *w, const half *x, int n) {
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += w[k] * __half2float(x[k]);
    return sum;
}

static void multiply(const struct gemm_job &job) {
    std::vector<float> w((size_t)job.in);
    for (int o = 0; o < job.out; o++) {
        for (int k = 0; k < job.in; k++)
            w[(size_t)k] = __half2float(job.weight[(size_t)o * job.in + k]);
        for (int row = 0; row < job.rows; row++) {
            size_t at = (size_t)row * job.y_stride + o;
            float y = dot(w.data(), job.x + (size_t)row * job.in, job.in);
            if (job.output == GEMM_HALF)
                ((half *)job.y)[at] =
                    __float2half_rn(y + __half2float(((const half *)job.bias)[o]));
            else
                ((float *)job.y)[at] =
                    y + ((const float *)job.bias)[o] +
                    (job.output == GEMM_ADD ? ((float *)job.y)[at] : 0);
        }
    }
}

enum bert_status gemm_run(struct gemm *gemm, const struct gemm_job *job,
                          cudaStream_t stream, struct bert_error *error) {
    if (gemm->chosen->insert({job->rows, job->in, job->out}).second &&
        emulation::forbidden())
        return error_set(error, BERT_INTERNAL, "CUDA: no choice while capturing");
    struct gemm_job kept = *job;
    emulation::enqueue(stream, [=] { multiply(kept); });
    return BERT_OK;
}
