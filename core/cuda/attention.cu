/* SPDX-License-Identifier: MIT
 *
 * attention.cu: a warp takes 16 queries of one head and all keys of their sequence.
 * Scores are kept whole (16 × 512 floats at most), so the soft-max is exact and needs one
 * pass; the weights p overwrite the scores as half, row by row, in front of what is still
 * to be read. Keys, then values, pass through shared memory in chunks that the block's
 * warps share. Products are 16 × 16 × 16 on the tensor cores. */
#include "cuda/kernels.cuh"

#include <math.h>

using namespace nvcuda;

enum {
    TILE = 16,
    CHUNK = 64,
    WARP_LANES = 32,
    MOST_WARPS = 4,
    WIDTH_TILES = (int)ATTENTION_WIDTH / 16
};

/* Shared memory of a block:
 *   chunk    half (CHUNK, pitch)            keys or values
 *   then a warp:
 *   query    half (TILE, pitch)
 *   scores   float (TILE, score_pitch)      later p as half, later the context
 *   inverse  float (TILE)                   1/Σp */
struct shared_plan {
    int padded_width,
        pitch; /* columns rounded up to a tile; with what avoids conflicts */
    int score_pitch;
    size_t chunk, query, scores, warp; /* bytes */
};

static __host__ __device__ struct shared_plan plan_shared(int width, int keys) {
    struct shared_plan p;
    int padded_keys = (keys + TILE - 1) / TILE * TILE;
    p.padded_width = (width + TILE - 1) / TILE * TILE;
    p.pitch = p.padded_width + 8;
    p.score_pitch = (padded_keys > p.padded_width ? padded_keys : p.padded_width) + 4;
    p.chunk = (size_t)CHUNK * p.pitch * sizeof(half);
    p.query = (size_t)TILE * p.pitch * sizeof(half);
    p.scores = (size_t)TILE * p.score_pitch * sizeof(float);
    p.warp = (p.query + p.scores + TILE * sizeof(float) + 127) / 128 * 128;
    return p;
}

struct __align__(16) eight_halves {
    half at[8];
};

/* Rows from x (stride, the first `rows` valid) into tiles, padding zero, a piece at a
 * time; by `threads` threads of which this is number `me`. */
template <class Piece>
static __device__ void load_pieces(half *to, const struct shared_plan &plan, int tall,
                                   const half *x, int stride, int rows, int width,
                                   unsigned me, unsigned threads) {
    const int size = sizeof(Piece) / sizeof(half);
    int across = plan.padded_width / size;
    for (int i = me; i < tall * across; i += threads) {
        int row = i / across, column = i % across * size;
        Piece piece = {};
        if (row < rows && column < width)
            piece = *(const Piece *)(x + row * (size_t)stride + column);
        *(Piece *)(to + row * plan.pitch + column) = piece;
    }
}

/* Eight columns at a time where the heads begin aligned. */
static __device__ void load_rows(half *to, const struct shared_plan &plan, int tall,
                                 const half *x, int stride, int rows, int width,
                                 unsigned me, unsigned threads) {
    if (width % 8 == 0)
        load_pieces<eight_halves>(to, plan, tall, x, stride, rows, width, me, threads);
    else
        load_pieces<half>(to, plan, tall, x, stride, rows, width, me, threads);
}

static __device__ void score_chunk(const struct shared_plan &plan, const half *query,
                                   const half *chunk, int keys, float *scores) {
    for (int j = 0; j < keys; j += TILE) {
        wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
        wmma::fill_fragment(sum, 0.0f);
        for (int k = 0; k < plan.padded_width; k += TILE) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
            wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
            wmma::load_matrix_sync(a, query + k, plan.pitch);
            wmma::load_matrix_sync(b, chunk + j * plan.pitch + k, plan.pitch);
            wmma::mma_sync(sum, a, b, sum);
        }
        wmma::store_matrix_sync(scores + j, sum, plan.score_pitch, wmma::mem_row_major);
    }
}

/* exp(scale · (score - greatest)) of each row, as half over its own scores. A step reads
 * 32 scores and then writes 32 halves, which end before the next step's scores begin. */
static __device__ void soft_max(float *scores, const struct shared_plan &plan, int keys,
                                float scale, float *inverse) {
    int lane = threadIdx.x % WARP_LANES, padded = (keys + TILE - 1) / TILE * TILE;
    for (int row = 0; row < TILE; row++) {
        float *score = scores + row * plan.score_pitch, most = -INFINITY, sum = 0;
        half *p = (half *)score;
        for (int j = lane; j < keys; j += WARP_LANES)
            most = fmaxf(most, score[j]);
        for (int step = WARP_LANES / 2; step > 0; step /= 2)
            most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, step));
        for (int j = 0; j < padded; j += WARP_LANES) {
            float e = j + lane < keys ? __expf(scale * (score[j + lane] - most)) : 0.0f;
            sum += e;
            __syncwarp();
            if (j + lane < padded)
                p[j + lane] = __float2half_rn(e);
            __syncwarp();
        }
        for (int step = WARP_LANES / 2; step > 0; step /= 2)
            sum += __shfl_xor_sync(0xffffffffu, sum, step);
        if (lane == 0)
            inverse[row] = 1.0f / sum;
    }
    __syncwarp();
}

typedef wmma::fragment<wmma::accumulator, 16, 16, 16, float> context_tiles[WIDTH_TILES];

static __device__ void add_values(const struct shared_plan &plan, const half *p,
                                  const half *chunk, int keys, context_tiles &context) {
    for (int j = 0; j < keys; j += TILE) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
        wmma::load_matrix_sync(a, p + j, 2 * plan.score_pitch);
#pragma unroll
        for (int t = 0; t < WIDTH_TILES; t++) {
            if (t * TILE >= plan.padded_width)
                break;
            wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
            wmma::load_matrix_sync(b, chunk + j * plan.pitch + t * TILE, plan.pitch);
            wmma::mma_sync(context[t], a, b, context[t]);
        }
    }
}

static __device__ void store_context(const struct shared_plan &plan, float *scratch,
                                     const context_tiles &context, const float *inverse,
                                     half *to, int stride, int rows, int width) {
    __syncwarp();
#pragma unroll
    for (int t = 0; t < WIDTH_TILES; t++)
        if (t * TILE < plan.padded_width)
            wmma::store_matrix_sync(scratch + t * TILE, context[t], plan.score_pitch,
                                    wmma::mem_row_major);
    __syncwarp();
    for (int i = threadIdx.x % WARP_LANES; i < rows * width; i += WARP_LANES) {
        int row = i / width, column = i % width;
        to[row * (size_t)stride + column] =
            __float2half_rn(scratch[row * plan.score_pitch + column] * inverse[row]);
    }
}

/* blockIdx.x: sequence and head; blockIdx.y: a tile of queries a warp. */
static __global__ void attention_kernel(struct attention_args a, int longest) {
    DYNAMIC_SHARED(memory);
    int sequence = blockIdx.x / a.heads, head = blockIdx.x % a.heads;
    if (sequence >= a.sizes->sequences)
        return;
    int warps = blockDim.x / WARP_LANES, warp = threadIdx.x / WARP_LANES;
    int keys = a.start[sequence + 1] - a.start[sequence];
    int queries = a.query_start[sequence + 1] - a.query_start[sequence];
    int first = (blockIdx.y * warps + warp) * TILE, column = head * a.width;
    if ((int)blockIdx.y * warps * TILE >= queries)
        return;
    struct shared_plan plan = plan_shared(a.width, longest);
    half *chunk = (half *)memory;
    char *own = memory + plan.chunk + warp * plan.warp;
    half *query = (half *)own;
    float *scores = (float *)(own + plan.query),
          *inverse = scores + TILE * plan.score_pitch;
    int rows =
        queries - first < TILE ? queries - first : TILE; /* below 1: a spare warp */
    size_t first_key = a.start[sequence] * (size_t)a.key_stride + column;
    size_t first_query =
        (a.query_start[sequence] + first) * (size_t)a.query_stride + column;
    load_rows(query, plan, TILE, a.query + (rows > 0 ? first_query : 0), a.query_stride,
              rows, a.width, threadIdx.x % WARP_LANES, WARP_LANES);
    for (int j = 0; j < keys; j += CHUNK) {
        int tall = keys - j < CHUNK ? (keys - j + TILE - 1) / TILE * TILE : (int)CHUNK;
        __syncthreads();
        load_rows(chunk, plan, tall, a.key + first_key + j * (size_t)a.key_stride,
                  a.key_stride, keys - j, a.width, threadIdx.x, blockDim.x);
        __syncthreads();
        score_chunk(plan, query, chunk, tall, scores + j);
    }
    __syncwarp();
    soft_max(scores, plan, keys, 1.0f / sqrtf((float)a.width), inverse);
    context_tiles context;
#pragma unroll
    for (int t = 0; t < WIDTH_TILES; t++)
        wmma::fill_fragment(context[t], 0.0f);
    for (int j = 0; j < keys; j += CHUNK) {
        int tall = keys - j < CHUNK ? (keys - j + TILE - 1) / TILE * TILE : (int)CHUNK;
        __syncthreads();
        load_rows(chunk, plan, tall, a.value + first_key + j * (size_t)a.key_stride,
                  a.key_stride, keys - j, a.width, threadIdx.x, blockDim.x);
        __syncthreads();
        add_values(plan, (half *)scores + j, chunk, tall, context);
    }
    if (rows > 0)
        store_context(plan, scores, context, inverse,
                      a.context +
                          (a.query_start[sequence] + first) * (size_t)a.context_stride +
                          column,
                      a.context_stride, rows, a.width);
}

enum bert_status attention_prepare(int width, int longest, size_t shared_limit,
                                   struct bert_error *error) {
    struct shared_plan plan = plan_shared(width, longest);
    if (plan.chunk + plan.warp > shared_limit)
        return error_set(error, BERT_MODEL,
                         "CUDA: attention over %d keys of width %d "
                         "needs %zu bytes of shared memory, the device has %zu",
                         longest, width, plan.chunk + plan.warp, shared_limit);
    CUDA_TRY(cudaFuncSetAttribute(attention_kernel,
                                  cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  (int)shared_limit),
             error);
    return BERT_OK;
}

void launch_attention(const struct attention_args *args, int sequences, int longest,
                      int queries, size_t shared_limit, cudaStream_t stream) {
    struct shared_plan plan = plan_shared(args->width, longest);
    int tiles = (queries + TILE - 1) / TILE;
    int warps = tiles < MOST_WARPS ? tiles : (int)MOST_WARPS;
    while (warps > 1 && plan.chunk + warps * plan.warp > shared_limit / 2)
        warps--; /* two blocks a multiprocessor hide each other's waiting */
    size_t shared = plan.chunk + warps * plan.warp;
    struct attention_args a = *args;
    dim3 grid((unsigned)(sequences * a.heads), (unsigned)((tiles + warps - 1) / warps));
    LAUNCH(attention_kernel, grid, (unsigned)(warps * WARP_LANES), shared, stream, a,
           longest);
}
