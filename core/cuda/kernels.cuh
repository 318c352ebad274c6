/* SPDX-License-Identifier: MIT
 *
 * kernels.cuh: what runs on the device beside the matrix products. Rows are row-major;
 * half is binary16; all sums are float. A launch may cover more rows than there are, so
 * that one captured graph serves a bucket of sizes: the true sizes lie in device memory.
 * A row's width is a multiple of 8, and its start aligned to 16 bytes: eight columns are
 * read and written at a time. */
#ifndef CUDA_KERNELS_CUH
#define CUDA_KERNELS_CUH

#include "cuda/device.cuh"

extern "C" {
#include "model/weights.h"
}

struct sizes { /* of the batch at hand, in device memory */
    int32_t rows, sequences, requests;
};

struct device_norm { /* quant NULL: the next layer reads n·γ + β, else n · quant */
    const float *gamma, *beta, *quant;
};

/* hidden (rows, width) = LayerNorm of the three embeddings' sum; input: as it is read
 * next. */
struct embed_args {
    const struct sizes *sizes;
    const half *word, *position, *type;
    const int32_t *ids, *positions;
    int width;
    float epsilon;
    struct device_norm norm;
    float *hidden;
    half *input;
};
void launch_embed(const struct embed_args *args, int rows, cudaStream_t stream);

/* hidden = LayerNorm(activation(hidden)) in place; input: as it is read next. counted:
 * whether rows are all rows of the batch or its requests. */
struct norm_args {
    const struct sizes *sizes;
    bool requests;
    int width;
    float epsilon;
    enum activation activation;
    struct device_norm norm;
    float *hidden;
    half *input;
};
void launch_norm(const struct norm_args *args, int rows, cudaStream_t stream);

/* y = gelu(x), n a multiple of 8. */
void launch_gelu(const float *x, half *y, size_t n, enum activation activation,
                 cudaStream_t stream);

/* The requested rows of hidden and input, side by side. */
struct pick_args {
    const struct sizes *sizes;
    const int32_t *request_row;
    int width;
    const float *hidden;
    const half *input;
    float *picked_hidden;
    half *picked_input;
};
void launch_pick(const struct pick_args *args, int requests, cudaStream_t stream);

/* Attention as in kernel.h's attention_job, in half; a row has at most 512 keys, a head
 * at most ATTENTION_WIDTH columns. */
enum { ATTENTION_WIDTH = 128 };
struct attention_args {
    const struct sizes *sizes;
    const int32_t *start, *query_start;
    int heads, width;
    const half *query, *key, *value;
    int query_stride, key_stride; /* values have the keys' stride */
    half *context;
    int context_stride;
};
/* sequences, longest (keys) and queries (of one sequence) bound the batch. */
void launch_attention(const struct attention_args *args, int sequences, int longest,
                      int queries, size_t shared_limit, cudaStream_t stream);
/* Allows the attention kernel the device's largest shared memory; fails when that is too
 * little for heads so wide and sequences so long. */
enum bert_status attention_prepare(int width, int longest, size_t shared_limit,
                                   struct bert_error *error);

/* Soft-max, selection and listed ids of requests first .. first + count, whose logits lie
 * in rows 0 .. count. Outputs are indexed by request (best: request * best_stride). */
struct answer_args {
    const struct sizes *sizes;
    int first, vocabulary;
    const float *logits;       /* (count, vocabulary) */
    const int32_t *k, *map_of; /* map_of: index into maps, -1: all ids */
    const uint64_t *maps;      /* map_words each */
    int map_words;
    const int32_t *listed_start, *listed;
    int best_stride;
    int32_t *best_id, *best_count, *finite;
    float *best_log, *listed_log;
};
void launch_answer(const struct answer_args *args, int count, cudaStream_t stream);

#endif
