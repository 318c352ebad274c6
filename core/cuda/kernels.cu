/* SPDX-License-Identifier: MIT
 *
 * kernels.cu: rows are handled by a warp each, so that a LayerNorm needs no barrier; the
 * answer to a request is the work of one block, as large as can be, over its row of
 * logits. */
#include "cuda/kernels.cuh"

#include <math.h>

enum { WARP_SIZE = 32, ROW_THREADS = 128, ANSWER_THREADS = 512 };

static __device__ float warp_sum(float x) {
    for (int step = WARP_SIZE / 2; step > 0; step /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, step);
    return x;
}

static __device__ float activate(float x, enum activation activation) {
    if (activation == ACTIVATION_GELU)
        return 0.5f * x * (1.0f + erff(x * 0.70710678f));
    if (activation == ACTIVATION_GELU_TANH)
        return 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
    return x;
}

/* What a lane reads or writes at a time. */
struct __align__(16) floats {
    float at[8];
};
struct __align__(16) halves {
    half at[8];
};

static __device__ floats load(const float *x) {
    return *(const floats *)x;
}

static __device__ floats load(const half *x) {
    halves from = *(const halves *)x;
    floats to;
    for (int k = 0; k < 8; k++)
        to.at[k] = __half2float(from.at[k]);
    return to;
}

static __device__ void store(float *x, const floats &from) {
    *(floats *)x = from;
}

static __device__ void store(half *x, const floats &from) {
    halves to;
    for (int k = 0; k < 8; k++)
        to.at[k] = __float2half_rn(from.at[k]);
    *(halves *)x = to;
}

/* The columns of a row that this lane of a warp takes, eight at a time. */
#define EACH_COLUMN(i, width) \
    for (int i = threadIdx.x % WARP_SIZE * 8; i < (width); i += WARP_SIZE * 8)

/* One row by one warp, in place; each lane reads back only what it wrote. */
static __device__ void norm_row(float *x, half *input, int width, float epsilon,
                                const struct device_norm &norm) {
    const float *scale = norm.quant == NULL ? norm.gamma : norm.quant;
    float sum = 0, squares = 0, shift = norm.quant == NULL ? 1.0f : 0.0f;
    EACH_COLUMN(i, width) {
        floats v = load(x + i);
        for (int k = 0; k < 8; k++)
            sum += v.at[k];
    }
    float mean = warp_sum(sum) / width;
    EACH_COLUMN(i, width) {
        floats v = load(x + i);
        for (int k = 0; k < 8; k++)
            squares += (v.at[k] - mean) * (v.at[k] - mean);
    }
    float factor = 1.0f / sqrtf(warp_sum(squares) / width + epsilon);
    EACH_COLUMN(i, width) {
        floats v = load(x + i), gamma = load(norm.gamma + i), beta = load(norm.beta + i);
        floats next = load(scale + i);
        for (int k = 0; k < 8; k++) {
            float n = (v.at[k] - mean) * factor;
            v.at[k] = n * gamma.at[k] + beta.at[k];
            next.at[k] = n * next.at[k] + shift * beta.at[k];
        }
        store(x + i, v);
        store(input + i, next);
    }
}

static __device__ int row_of_warp() {
    return blockIdx.x * (ROW_THREADS / WARP_SIZE) + threadIdx.x / WARP_SIZE;
}

static unsigned row_blocks(int rows) {
    return (rows + ROW_THREADS / WARP_SIZE - 1) / (ROW_THREADS / WARP_SIZE);
}

static __global__ void embed_kernel(struct embed_args a) {
    int row = row_of_warp();
    if (row >= a.sizes->rows)
        return;
    size_t width = a.width;
    float *x = a.hidden + row * width;
    const half *word = a.word + a.ids[row] * width;
    const half *position = a.position + a.positions[row] * width;
    EACH_COLUMN(i, a.width) {
        floats v = load(word + i), type = load(a.type + i), at = load(position + i);
        for (int k = 0; k < 8; k++)
            v.at[k] += type.at[k] + at.at[k];
        store(x + i, v);
    }
    norm_row(x, a.input + row * width, a.width, a.epsilon, a.norm);
}

void launch_embed(const struct embed_args *args, int rows, cudaStream_t stream) {
    struct embed_args a = *args;
    LAUNCH(embed_kernel, row_blocks(rows), ROW_THREADS, 0, stream, a);
}

static __global__ void norm_kernel(struct norm_args a) {
    int row = row_of_warp();
    if (row >= (a.requests ? a.sizes->requests : a.sizes->rows))
        return;
    float *x = a.hidden + row * (size_t)a.width;
    if (a.activation != ACTIVATION_NONE)
        EACH_COLUMN(i, a.width) {
            floats v = load(x + i);
            for (int k = 0; k < 8; k++)
                v.at[k] = activate(v.at[k], a.activation);
            store(x + i, v);
        }
    norm_row(x, a.input + row * (size_t)a.width, a.width, a.epsilon, a.norm);
}

void launch_norm(const struct norm_args *args, int rows, cudaStream_t stream) {
    struct norm_args a = *args;
    LAUNCH(norm_kernel, row_blocks(rows), ROW_THREADS, 0, stream, a);
}

static __global__ void gelu_kernel(const float *x, half *y, size_t n,
                                   enum activation activation) {
    size_t i = (blockIdx.x * (size_t)ROW_THREADS + threadIdx.x) * 8;
    if (i >= n)
        return;
    floats v = load(x + i);
    for (int k = 0; k < 8; k++)
        v.at[k] = activate(v.at[k], activation);
    store(y + i, v);
}

void launch_gelu(const float *x, half *y, size_t n, enum activation activation,
                 cudaStream_t stream) {
    unsigned blocks = (unsigned)((n / 8 + ROW_THREADS - 1) / ROW_THREADS);
    LAUNCH(gelu_kernel, blocks, ROW_THREADS, 0, stream, x, y, n, activation);
}

static __global__ void pick_kernel(struct pick_args a) {
    int i = row_of_warp();
    if (i >= a.sizes->requests)
        return;
    size_t from = a.request_row[i] * (size_t)a.width, to = i * (size_t)a.width;
    EACH_COLUMN(j, a.width) {
        store(a.picked_hidden + to + j, load(a.hidden + from + j));
        *(halves *)(a.picked_input + to + j) = *(const halves *)(a.input + from + j);
    }
}

void launch_pick(const struct pick_args *args, int requests, cudaStream_t stream) {
    struct pick_args a = *args;
    LAUNCH(pick_kernel, row_blocks(requests), ROW_THREADS, 0, stream, a);
}

/* A score and its id as one number that orders as answers do: higher score, then lower
 * id. Adding zero makes the two zeros equal. */
static __device__ unsigned long long key_of(float score, int id) {
    float x = score + 0.0f;
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = bits >> 31 ? ~bits : bits | 0x80000000u;
    return (unsigned long long)bits << 32 | (0xffffffffu - (uint32_t)id);
}

/* The greatest (or the sum) over a block, known to all its threads. */
template <class T, class Combine>
static __device__ T block_reduce(T x, T *scratch, Combine combine) {
    for (int step = WARP_SIZE / 2; step > 0; step /= 2)
        x = combine(x, __shfl_xor_sync(0xffffffffu, x, step));
    __syncthreads();
    if (threadIdx.x % WARP_SIZE == 0)
        scratch[threadIdx.x / WARP_SIZE] = x;
    __syncthreads();
    x = scratch[0];
    for (int i = 1; i < ANSWER_THREADS / WARP_SIZE; i++)
        x = combine(x, scratch[i]);
    return x;
}

struct greatest {
    template <class T> __device__ T operator()(T a, T b) const {
        return a > b ? a : b;
    }
};
struct total {
    template <class T> __device__ T operator()(T a, T b) const {
        return a + b;
    }
};

/* The k best, one sweep over the row each: k is small, and the row stays in cache. */
static __device__ void select_best(const struct answer_args &a, int request,
                                   const float *logits, float log_total,
                                   unsigned long long *scratch) {
    const uint64_t *map =
        a.map_of[request] < 0 ? NULL : a.maps + a.map_of[request] * (size_t)a.map_words;
    size_t out = request * (size_t)a.best_stride;
    unsigned long long last = ~0ull;
    int count = 0;
    for (; count < a.k[request]; count++) {
        unsigned long long best = 0;
        for (int i = threadIdx.x; i < a.vocabulary; i += ANSWER_THREADS) {
            unsigned long long key = key_of(logits[i], i);
            if (key < last && key > best && (map == NULL || map[i / 64] >> (i % 64) & 1))
                best = key;
        }
        best = block_reduce(best, scratch, greatest());
        if (best == 0)
            break;
        last = best;
        if (threadIdx.x == 0) {
            int id = (int)(0xffffffffu - (uint32_t)best);
            a.best_id[out + count] = id;
            a.best_log[out + count] = logits[id] - log_total;
        }
    }
    if (threadIdx.x == 0)
        a.best_count[request] = count;
}

static __global__ void __launch_bounds__(ANSWER_THREADS)
    answer_kernel(struct answer_args a) {
    __shared__ float values[ANSWER_THREADS / WARP_SIZE];
    __shared__ unsigned long long keys[ANSWER_THREADS / WARP_SIZE];
    int request = a.first + blockIdx.x;
    if (request >= a.sizes->requests)
        return;
    const float *logits = a.logits + blockIdx.x * (size_t)a.vocabulary;
    float most = -INFINITY, bad = 0, sum = 0;
    for (int i = threadIdx.x; i < a.vocabulary; i += ANSWER_THREADS) {
        float x = logits[i];
        bad += !isfinite(x);
        most = x > most ? x : most;
    }
    bad = block_reduce(bad, values, total());
    if (threadIdx.x == 0)
        a.finite[request] = bad == 0;
    if (bad != 0)
        return;
    most = block_reduce(most, values, greatest());
    for (int i = threadIdx.x; i < a.vocabulary; i += ANSWER_THREADS)
        sum += expf(logits[i] - most);
    float log_total = most + logf(block_reduce(sum, values, total()));
    for (int i = a.listed_start[request] + (int)threadIdx.x;
         i < a.listed_start[request + 1]; i += ANSWER_THREADS)
        a.listed_log[i] = logits[a.listed[i]] - log_total;
    select_best(a, request, logits, log_total, keys);
}

void launch_answer(const struct answer_args *args, int count, cudaStream_t stream) {
    struct answer_args a = *args;
    LAUNCH(answer_kernel, (unsigned)count, ANSWER_THREADS, 0, stream, a);
}
