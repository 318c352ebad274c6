/* SPDX-License-Identifier: MIT
 *
 * plan.cuh: a batch and its requests in one piece of pinned memory, so that one copy
 * takes them to the device, and the answers in another, so that one copy brings them
 * back. */
#ifndef CUDA_PLAN_CUH
#define CUDA_PLAN_CUH

#include "cuda/kernels.cuh"

extern "C" {
#include "nn/batch.h"
}

struct plan_limits {
    int rows, sequences, requests;
    int best;      /* answers a request, as long as none wants more */
    int best_room; /* answers in all */
    int listed;    /* listed ids in all */
    int maps;      /* different bit maps */
    int vocabulary, map_words;
};

struct plan_arrays { /* the same layout on both sides */
    struct sizes *sizes;
    int32_t *ids, *positions, *start, *query_start, *request_row, *k, *map_of,
        *listed_start;
    uint64_t *maps;
    int32_t *listed; /* last: only what is used is copied */
};

struct answer_arrays {
    int32_t *finite, *best_count, *best_id;
    float *best_log, *listed_log; /* listed_log last, as above */
};

struct plan {
    struct plan_limits limits;
    struct plan_arrays host, device;
    struct answer_arrays host_answers, device_answers;
    size_t size, answers_size; /* bytes */
    int longest, queries;      /* most keys and queries of one sequence */
    int best_stride;           /* answers apart from a request's to the next's */
};

enum bert_status plan_new(struct plan *plan, const struct plan_limits *limits,
                          struct bert_error *error);
void plan_release(struct plan *plan);

/* Whether a batch and its requests fit. */
bool plan_fits(const struct plan *plan, const struct batch *batch,
               const struct request *requests, size_t count);

/* Describes batch and requests in the host arrays. They fit. */
void plan_fill(struct plan *plan, const struct batch *batch,
               const struct request *requests, size_t count);

/* Copies the plan there (whole: the size does not depend on the batch, as a captured
 * graph needs; otherwise what is used) and the answers back. */
enum bert_status plan_send(const struct plan *plan, bool whole, cudaStream_t stream,
                           struct bert_error *error);
enum bert_status plan_fetch(const struct plan *plan, bool whole, cudaStream_t stream,
                            struct bert_error *error);

/* After the stream is done: the answers into the replies. */
void plan_answers(const struct plan *plan, const struct request *requests, size_t count,
                  struct reply *replies);

#endif
