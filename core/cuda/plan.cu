/* SPDX-License-Identifier: MIT
 *
 * plan.cu: layout, filling and copying of a plan. */
#include "cuda/plan.cuh"

static void *place(char *base, size_t *at, size_t count, size_t size) {
    void *here = base == NULL ? NULL : base + *at;
    *at += (count * size + 63) / 64 * 64;
    return here;
}

static size_t lay_plan(struct plan_arrays *a, char *base, const struct plan_limits *l) {
    size_t at = 0, requests = (size_t)l->requests, sequences = (size_t)l->sequences + 1;
    a->sizes = (struct sizes *)place(base, &at, 1, sizeof *a->sizes);
    a->ids = (int32_t *)place(base, &at, (size_t)l->rows, 4);
    a->positions = (int32_t *)place(base, &at, (size_t)l->rows, 4);
    a->start = (int32_t *)place(base, &at, sequences, 4);
    a->query_start = (int32_t *)place(base, &at, sequences, 4);
    a->request_row = (int32_t *)place(base, &at, requests, 4);
    a->k = (int32_t *)place(base, &at, requests, 4);
    a->map_of = (int32_t *)place(base, &at, requests, 4);
    a->listed_start = (int32_t *)place(base, &at, requests + 1, 4);
    a->maps = (uint64_t *)place(base, &at, (size_t)l->maps * (size_t)l->map_words, 8);
    a->listed = (int32_t *)place(base, &at, (size_t)l->listed, 4);
    return at;
}

static size_t lay_answers(struct answer_arrays *a, char *base,
                          const struct plan_limits *l) {
    size_t at = 0, requests = (size_t)l->requests, best = (size_t)l->best_room;
    a->finite = (int32_t *)place(base, &at, requests, 4);
    a->best_count = (int32_t *)place(base, &at, requests, 4);
    a->best_id = (int32_t *)place(base, &at, best, 4);
    a->best_log = (float *)place(base, &at, best, 4);
    a->listed_log = (float *)place(base, &at, (size_t)l->listed, 4);
    return at;
}

enum bert_status plan_new(struct plan *plan, const struct plan_limits *limits,
                          struct bert_error *error) {
    char *host, *device;
    plan->limits = *limits;
    plan->size = lay_plan(&plan->host, NULL, limits);
    plan->answers_size = lay_answers(&plan->host_answers, NULL, limits);
    CUDA_TRY(cudaMallocHost(&host, plan->size), error);
    lay_plan(&plan->host, host, limits);
    memset(host, 0, plan->size);
    CUDA_TRY(cudaMalloc(&device, plan->size), error);
    lay_plan(&plan->device, device, limits);
    CUDA_TRY(cudaMallocHost(&host, plan->answers_size), error);
    lay_answers(&plan->host_answers, host, limits);
    CUDA_TRY(cudaMalloc(&device, plan->answers_size), error);
    lay_answers(&plan->device_answers, device, limits);
    return BERT_OK;
}

void plan_release(struct plan *plan) {
    cudaFreeHost(plan->host.sizes);
    cudaFree(plan->device.sizes);
    cudaFreeHost(plan->host_answers.finite);
    cudaFree(plan->device_answers.finite);
}

/* The index of the request before i with the same bit map, or i. */
static size_t same_map(const struct request *requests, size_t i) {
    for (size_t back = 1; back <= i && back <= 4; back++)
        if (requests[i - back].allowed == requests[i].allowed)
            return i - back;
    return i;
}

/* No more are wanted than there are. */
static int wanted(const struct plan *plan, const struct request *request) {
    return request->k < plan->limits.vocabulary ? request->k : plan->limits.vocabulary;
}

static int stride_of(const struct plan *plan, const struct request *requests,
                     size_t count) {
    int stride = plan->limits.best;
    for (size_t i = 0; i < count; i++)
        if (wanted(plan, &requests[i]) > stride)
            stride = wanted(plan, &requests[i]);
    return stride;
}

bool plan_fits(const struct plan *plan, const struct batch *batch,
               const struct request *requests, size_t count) {
    const struct plan_limits *l = &plan->limits;
    size_t listed = 0, maps = 0;
    if (batch->rows > (size_t)l->rows || batch->sequences > (size_t)l->sequences ||
        count > (size_t)l->requests ||
        count * (size_t)stride_of(plan, requests, count) > (size_t)l->best_room)
        return false;
    for (size_t i = 0; i < count; i++) {
        listed += requests[i].listed_count;
        maps += requests[i].allowed != NULL && same_map(requests, i) == i;
    }
    return listed <= (size_t)l->listed && maps <= (size_t)l->maps;
}

static void fill_batch(struct plan *plan, const struct batch *batch) {
    struct plan_arrays *a = &plan->host;
    memcpy(a->ids, batch->ids, batch->rows * sizeof *a->ids);
    plan->longest = 0;
    for (size_t s = 0; s < batch->sequences; s++) {
        int length = (int)(batch->start[s + 1] - batch->start[s]);
        a->start[s + 1] = (int32_t)batch->start[s + 1];
        for (int i = 0; i < length; i++)
            a->positions[batch->start[s] + i] = i;
        if (length > plan->longest)
            plan->longest = length;
    }
    a->start[0] = 0;
}

static void fill_query_starts(struct plan *plan, const struct batch *batch,
                              const struct request *requests, size_t count) {
    size_t i = 0;
    plan->queries = 1;
    for (size_t s = 0; s < batch->sequences; s++) {
        size_t first = i;
        plan->host.query_start[s] = (int32_t)i;
        while (i < count && requests[i].row < batch->start[s + 1])
            i++;
        if ((int)(i - first) > plan->queries)
            plan->queries = (int)(i - first);
    }
    plan->host.query_start[batch->sequences] = (int32_t)i;
}

void plan_fill(struct plan *plan, const struct batch *batch,
               const struct request *requests, size_t count) {
    struct plan_arrays *a = &plan->host;
    size_t listed = 0, maps = 0, words = (size_t)plan->limits.map_words;
    *a->sizes =
        (struct sizes){(int32_t)batch->rows, (int32_t)batch->sequences, (int32_t)count};
    plan->best_stride = stride_of(plan, requests, count);
    fill_batch(plan, batch);
    fill_query_starts(plan, batch, requests, count);
    for (size_t i = 0; i < count; i++) {
        size_t same = same_map(requests, i);
        a->request_row[i] = (int32_t)requests[i].row;
        a->k[i] = wanted(plan, &requests[i]);
        a->map_of[i] = requests[i].allowed == NULL ? -1
                       : same != i                 ? a->map_of[same]
                                                   : (int32_t)maps;
        if (requests[i].allowed != NULL && same == i)
            memcpy(a->maps + maps++ * words, requests[i].allowed,
                   words * sizeof *a->maps);
        a->listed_start[i] = (int32_t)listed;
        if (requests[i].listed_count > 0)
            memcpy(a->listed + listed, requests[i].listed,
                   requests[i].listed_count * sizeof *a->listed);
        listed += requests[i].listed_count;
    }
    a->listed_start[count] = (int32_t)listed;
}

static size_t listed_bytes(const struct plan *plan) {
    return (size_t)plan->host.listed_start[plan->host.sizes->requests] * 4;
}

enum bert_status plan_send(const struct plan *plan, bool whole, cudaStream_t stream,
                           struct bert_error *error) {
    size_t fixed = (size_t)((char *)plan->host.listed - (char *)plan->host.sizes);
    CUDA_TRY(cudaMemcpyAsync(plan->device.sizes, plan->host.sizes,
                             whole ? plan->size : fixed + listed_bytes(plan),
                             cudaMemcpyHostToDevice, stream),
             error);
    return BERT_OK;
}

enum bert_status plan_fetch(const struct plan *plan, bool whole, cudaStream_t stream,
                            struct bert_error *error) {
    const struct answer_arrays *host = &plan->host_answers;
    size_t fixed = (size_t)((char *)host->listed_log - (char *)host->finite);
    CUDA_TRY(cudaMemcpyAsync(host->finite, plan->device_answers.finite,
                             whole ? plan->answers_size : fixed + listed_bytes(plan),
                             cudaMemcpyDeviceToHost, stream),
             error);
    return BERT_OK;
}

void plan_answers(const struct plan *plan, const struct request *requests, size_t count,
                  struct reply *replies) {
    const struct answer_arrays *a = &plan->host_answers;
    for (size_t i = 0; i < count; i++) {
        size_t best = i * (size_t)plan->best_stride;
        replies[i].finite = a->finite[i];
        if (!a->finite[i])
            continue;
        replies[i].best_count = a->best_count[i];
        for (int j = 0; j < a->best_count[i]; j++)
            replies[i].best[j] =
                (struct scored){a->best_id[best + j], a->best_log[best + j]};
        if (requests[i].listed_count > 0)
            memcpy(replies[i].listed, a->listed_log + plan->host.listed_start[i],
                   requests[i].listed_count * sizeof(float));
    }
}
