/* SPDX-License-Identifier: MIT
 *
 * gemm.cu: cuBLASLt. It is column-major: our row-major w (out, in) is its (in, out), so
 * the product is wᵀ-transposed · x, and y comes out row-major. The choice of an algorithm
 * is made once a shape: asking for it costs more than a small product. */
#include "cuda/gemm.cuh"

#include <cublasLt.h>

enum { SHAPES = 512 };

struct shape {
    int rows, in, out, y_stride;
    uint32_t alignment; /* bytes, of weight, x and y */
    enum gemm_output output;
    bool used;
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t weight, x, y;
    cublasLtMatmulAlgo_t algorithm;
};

struct gemm {
    cublasLtHandle_t handle;
    void *workspace;
    struct shape shapes[SHAPES]; /* open addressing; cleared when nearly full */
    int used;
};

#define BLAS_TRY(call, error)                                             \
    do {                                                                  \
        cublasStatus_t code_ = (call);                                    \
        if (code_ != CUBLAS_STATUS_SUCCESS)                               \
            return error_set(error, BERT_INTERNAL, "CUDA: %s: %s", #call, \
                             cublasLtGetStatusString(code_));             \
    } while (0)

static void shape_release(struct shape *s) {
    if (s->operation != NULL)
        cublasLtMatmulDescDestroy(s->operation);
    if (s->weight != NULL)
        cublasLtMatrixLayoutDestroy(s->weight);
    if (s->x != NULL)
        cublasLtMatrixLayoutDestroy(s->x);
    if (s->y != NULL)
        cublasLtMatrixLayoutDestroy(s->y);
    memset(s, 0, sizeof *s);
}

enum bert_status gemm_new(struct gemm **result, struct bert_error *error) {
    struct gemm *gemm = (struct gemm *)calloc(1, sizeof *gemm);
    if (gemm == NULL)
        return error_memory(error);
    *result = gemm;
    BLAS_TRY(cublasLtCreate(&gemm->handle), error);
    CUDA_TRY(cudaMalloc(&gemm->workspace, GEMM_WORKSPACE), error);
    return BERT_OK;
}

void gemm_free(struct gemm *gemm) {
    if (gemm == NULL)
        return;
    for (int i = 0; i < SHAPES; i++)
        shape_release(&gemm->shapes[i]);
    cudaFree(gemm->workspace);
    if (gemm->handle != NULL)
        cublasLtDestroy(gemm->handle);
    free(gemm);
}

/* The bias is set before an algorithm is asked for: some versions want to see it. */
static enum bert_status set_bias(struct shape *s, const void *bias,
                                 struct bert_error *error) {
    BLAS_TRY(cublasLtMatmulDescSetAttribute(
                 s->operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias),
             error);
    return BERT_OK;
}

static enum bert_status describe(struct shape *s, const void *bias,
                                 struct bert_error *error) {
    cublasOperation_t transposed = CUBLAS_OP_T;
    cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
    cudaDataType_t type = s->output == GEMM_HALF ? CUDA_R_16F : CUDA_R_32F;
    BLAS_TRY(cublasLtMatmulDescCreate(&s->operation, CUBLAS_COMPUTE_32F, CUDA_R_32F),
             error);
    BLAS_TRY(cublasLtMatmulDescSetAttribute(s->operation, CUBLASLT_MATMUL_DESC_TRANSA,
                                            &transposed, sizeof transposed),
             error);
    BLAS_TRY(cublasLtMatmulDescSetAttribute(s->operation, CUBLASLT_MATMUL_DESC_EPILOGUE,
                                            &epilogue, sizeof epilogue),
             error);
    BLAS_TRY(cublasLtMatmulDescSetAttribute(
                 s->operation, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &type, sizeof type),
             error);
    STATUS_TRY(set_bias(s, bias, error));
    BLAS_TRY(cublasLtMatrixLayoutCreate(&s->weight, CUDA_R_16F, s->in, s->out, s->in),
             error);
    BLAS_TRY(cublasLtMatrixLayoutCreate(&s->x, CUDA_R_16F, s->in, s->rows, s->in), error);
    BLAS_TRY(cublasLtMatrixLayoutCreate(&s->y, type, s->out, s->rows, s->y_stride),
             error);
    return BERT_OK;
}

/* What bounds the choice. Without the alignments it would take 256 bytes for granted. */
static cublasStatus_t prefer(cublasLtMatmulPreference_t preference,
                             const struct shape *s) {
    static const cublasLtMatmulPreferenceAttributes_t aligned[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
    size_t workspace = GEMM_WORKSPACE;
    cublasStatus_t status = cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
        sizeof workspace);
    for (auto attribute : aligned)
        if (status == CUBLAS_STATUS_SUCCESS)
            status = cublasLtMatmulPreferenceSetAttribute(
                preference, attribute, &s->alignment, sizeof s->alignment);
    return status;
}

static enum bert_status choose(struct gemm *gemm, struct shape *s,
                               struct bert_error *error) {
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t found;
    int count = 0;
    BLAS_TRY(cublasLtMatmulPreferenceCreate(&preference), error);
    cublasStatus_t status = prefer(preference, s);
    if (status == CUBLAS_STATUS_SUCCESS)
        status =
            cublasLtMatmulAlgoGetHeuristic(gemm->handle, s->operation, s->weight, s->x,
                                           s->y, s->y, preference, 1, &found, &count);
    cublasLtMatmulPreferenceDestroy(preference);
    if (status != CUBLAS_STATUS_SUCCESS || count == 0)
        return error_set(
            error, BERT_INTERNAL, "CUDA: no product of %d rows, %d by %d: %s", s->rows,
            s->in, s->out,
            status == CUBLAS_STATUS_SUCCESS ? "no algorithm"
                                            : cublasLtGetStatusString(status));
    s->algorithm = found.algo;
    return BERT_OK;
}

/* The largest power of two up to 256 that divides all three addresses. */
static uint32_t alignment_of(const struct gemm_job *job) {
    uintptr_t all = (uintptr_t)job->weight | (uintptr_t)job->x | (uintptr_t)job->y | 256;
    return (uint32_t)(all & -all);
}

static enum bert_status find_shape(struct gemm *gemm, const struct gemm_job *job,
                                   struct shape **result, struct bert_error *error) {
    if (gemm->used > SHAPES * 3 / 4) {
        for (int i = 0; i < SHAPES; i++)
            shape_release(&gemm->shapes[i]);
        gemm->used = 0;
    }
    uint32_t alignment = alignment_of(job);
    unsigned at = (unsigned)job->rows * 31u + (unsigned)job->in * 7u +
                  (unsigned)job->out + (unsigned)job->output;
    for (;; at++) {
        struct shape *s = &gemm->shapes[at % SHAPES];
        *result = s;
        if (s->used && s->rows == job->rows && s->in == job->in && s->out == job->out &&
            s->y_stride == job->y_stride && s->output == job->output &&
            s->alignment == alignment)
            return set_bias(s, job->bias, error);
        if (s->used)
            continue;
        s->rows = job->rows, s->in = job->in, s->out = job->out;
        s->y_stride = job->y_stride, s->output = job->output;
        s->alignment = alignment;
        enum bert_status status = describe(s, job->bias, error);
        if (status == BERT_OK)
            status = choose(gemm, s, error);
        if (status != BERT_OK) {
            shape_release(s);
            return status;
        }
        s->used = true;
        gemm->used++;
        return BERT_OK;
    }
}

enum bert_status gemm_run(struct gemm *gemm, const struct gemm_job *job,
                          cudaStream_t stream, struct bert_error *error) {
    struct shape *s;
    float one = 1, add = job->output == GEMM_ADD ? 1 : 0;
    STATUS_TRY(find_shape(gemm, job, &s, error));
    BLAS_TRY(cublasLtMatmul(gemm->handle, s->operation, &one, job->weight, s->weight,
                            job->x, s->x, &add, job->y, s->y, job->y, s->y, &s->algorithm,
                            gemm->workspace, GEMM_WORKSPACE, stream),
             error);
    return BERT_OK;
}
