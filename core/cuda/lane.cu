/* SPDX-License-Identifier: MIT
 *
 * lane.cu: small batches are captured once a bucket of sizes as a graph and then cost one
 * launch. All that a graph refers to lies in the lane's memory and stays where it is. */
#include "cuda/lane.cuh"

#include "cuda/gemm.cuh"
#include "cuda/pass.cuh"
#include "cuda/plan.cuh"

enum {
    SMALL_ROWS = 512,
    SMALL_SEQUENCES = 8,
    SMALL_REQUESTS = 8, /* what a graph is made for */
    SMALL_BEST = 32,
    SMALL_LISTED = 4096,
    SMALL_MAPS = 1,
    LARGE_BEST = 8,
    LARGE_LISTED = 1 << 18,
    LARGE_MAPS = 16,
    GRAPHS = 64,
    LEAST_KEYS = 16,
    ROW_STEP = 64, /* rows of a large product are rounded up, so that shapes recur */
};

struct graph {
    struct bucket bucket;
    cudaGraphExec_t run; /* NULL: free */
};

struct lane {
    const struct device_weights *weights;
    int rows;
    size_t shared_limit;
    cudaStream_t stream;
    struct gemm *gemm;
    struct plan small, large;
    char *block; /* the device memory of: */
    struct zones zones;
    struct graph graphs[GRAPHS];
    int next_graph;  /* the slot that is given up next */
    bool no_capture; /* it has failed before */
};

/* ---- Memory ---------------------------------------------------------------------- */

static int larger(int a, int b) {
    return a > b ? a : b;
}

static int smaller(int a, int b) {
    return a < b ? a : b;
}

static enum bert_status lane_init(struct lane *lane, struct bert_error *error) {
    int vocabulary = lane->weights->config.vocabulary, words = (vocabulary + 63) / 64;
    struct plan_limits small = {.rows = SMALL_ROWS,
                                .sequences = SMALL_SEQUENCES,
                                .requests = SMALL_REQUESTS,
                                .best = SMALL_BEST,
                                .best_room = SMALL_REQUESTS * SMALL_BEST,
                                .listed = SMALL_LISTED,
                                .maps = SMALL_MAPS,
                                .vocabulary = vocabulary,
                                .map_words = words};
    /* Room for one request at least that wants the whole vocabulary, ranked, listed. */
    struct plan_limits large = {.rows = lane->rows,
                                .sequences = lane->rows,
                                .requests = lane->rows,
                                .best = LARGE_BEST,
                                .best_room = larger(lane->rows * LARGE_BEST, vocabulary),
                                .listed = larger(LARGE_LISTED, vocabulary),
                                .maps = LARGE_MAPS,
                                .vocabulary = vocabulary,
                                .map_words = words};
    CUDA_TRY(cudaStreamCreateWithFlags(&lane->stream, cudaStreamNonBlocking), error);
    STATUS_TRY(gemm_new(&lane->gemm, error));
    STATUS_TRY(plan_new(&lane->small, &small, error));
    STATUS_TRY(plan_new(&lane->large, &large, error));
    const struct model_config *config = &lane->weights->config;
    CUDA_TRY(cudaMalloc(&lane->block, pass_zones(&lane->zones, NULL, config, lane->rows)),
             error);
    pass_zones(&lane->zones, lane->block, config, lane->rows);
    return BERT_OK;
}

enum bert_status lane_new(struct lane **result, const struct device_weights *weights,
                          int rows, size_t shared_limit, struct bert_error *error) {
    struct lane *lane = (struct lane *)calloc(1, sizeof *lane);
    if (lane == NULL)
        return error_memory(error);
    lane->weights = weights;
    lane->rows = rows;
    lane->shared_limit = shared_limit;
    enum bert_status status = lane_init(lane, error);
    if (status != BERT_OK)
        lane_free(lane);
    else
        *result = lane;
    return status;
}

void lane_free(struct lane *lane) {
    if (lane == NULL)
        return;
    for (int i = 0; i < GRAPHS; i++)
        if (lane->graphs[i].run != NULL)
            cudaGraphExecDestroy(lane->graphs[i].run);
    cudaFree(lane->block);
    plan_release(&lane->small);
    plan_release(&lane->large);
    gemm_free(lane->gemm);
    if (lane->stream != NULL)
        cudaStreamDestroy(lane->stream);
    free(lane);
}

/* ---- Graphs ---------------------------------------------------------------------- */

static int round_up(int x, int step) {
    return (x + step - 1) / step * step;
}

static int power_of_two(int x) {
    int p = 1;
    while (p < x)
        p *= 2;
    return p;
}

/* Steps of an eighth of the next power of two, at least 8: few buckets, little waste. */
static int row_bucket(int rows) {
    int step = power_of_two(rows) / 8;
    return round_up(rows, step < 8 ? 8 : step);
}

/* Coarse where it costs little: an attention block without work ends at once. */
static struct bucket small_bucket(const struct pass *p) {
    const struct plan *plan = p->plan;
    const struct sizes *sizes = plan->host.sizes;
    int longest = power_of_two(larger(plan->longest, LEAST_KEYS));
    int positions = p->weights->config.positions;
    struct bucket b = {.rows = row_bucket(sizes->rows),
                       .sequences = sizes->sequences == 1 ? 1 : (int)SMALL_SEQUENCES,
                       .requests = power_of_two(sizes->requests),
                       .longest = smaller(longest, positions),
                       .queries = SMALL_REQUESTS,
                       .best_stride = plan->best_stride};
    return b;
}

static struct graph *find_graph(struct lane *lane, const struct bucket *bucket) {
    for (struct graph &graph : lane->graphs)
        if (graph.run != NULL && memcmp(&graph.bucket, bucket, sizeof *bucket) == 0)
            return &graph;
    return NULL;
}

/* The pass as a graph, in the oldest slot. */
static cudaError_t capture(struct lane *lane, const struct pass *p) {
    struct graph *graph = &lane->graphs[lane->next_graph];
    struct pass recorded = *p;
    struct bert_error ignored;
    cudaGraph_t captured = NULL;
    recorded.error = &ignored;
    lane->next_graph = (lane->next_graph + 1) % GRAPHS;
    if (graph->run != NULL)
        cudaGraphExecDestroy(graph->run);
    graph->run = NULL;
    cudaError_t code =
        cudaStreamBeginCapture(lane->stream, cudaStreamCaptureModeThreadLocal);
    if (code != cudaSuccess)
        return code;
    enum bert_status status = pass_run(&recorded, true);
    code = cudaStreamEndCapture(lane->stream, &captured);
    if (status != BERT_OK)
        code = cudaErrorUnknown;
    if (code == cudaSuccess)
        code = cudaGraphInstantiate(&graph->run, captured, 0);
    if (code != cudaSuccess)
        graph->run = NULL;
    if (captured != NULL)
        cudaGraphDestroy(captured);
    graph->bucket = p->bucket;
    return code;
}

/* The first batch of a bucket goes launch by launch, since kernels are loaded and
 * algorithms chosen on the way, and neither may happen during a capture. While the device
 * is at it the pass is captured for the next one. Without a graph it takes longer, which
 * is all. */
static enum bert_status run_small(struct lane *lane, struct pass *p) {
    p->bucket = small_bucket(p);
    struct graph *graph = find_graph(lane, &p->bucket);
    if (graph != NULL) {
        CUDA_TRY(cudaGraphLaunch(graph->run, lane->stream), p->error);
        return BERT_OK;
    }
    STATUS_TRY(pass_run(p, true));
    if (!lane->no_capture && capture(lane, p) != cudaSuccess) {
        lane->no_capture = true;
        cudaGetLastError(); /* dealt with */
    }
    return BERT_OK;
}

static enum bert_status run_large(struct lane *lane, struct pass *p) {
    const struct sizes *sizes = p->plan->host.sizes;
    struct bucket bucket = {
        .rows = smaller(round_up(sizes->rows, ROW_STEP), lane->rows),
        .sequences = sizes->sequences,
        .requests = smaller(round_up(sizes->requests, ROW_STEP), lane->rows),
        .longest = p->plan->longest,
        .queries = p->plan->queries,
        .best_stride = p->plan->best_stride};
    p->bucket = bucket;
    return pass_run(p, false);
}

enum bert_status lane_forward(struct lane *lane, const struct batch *batch,
                              const struct request *requests, size_t count,
                              struct reply *replies, struct bert_error *error) {
    bool small = plan_fits(&lane->small, batch, requests, count);
    struct plan *plan = small ? &lane->small : &lane->large;
    if (!small && !plan_fits(plan, batch, requests, count)) { /* they ask for very much */
        if (count == 1)
            return error_set(error, BERT_INTERNAL,
                             "CUDA: a request lists %zu ids, at most "
                             "%d fit",
                             requests->listed_count, plan->limits.listed);
        size_t half_count = count / 2;
        STATUS_TRY(lane_forward(lane, batch, requests, half_count, replies, error));
        return lane_forward(lane, batch, requests + half_count, count - half_count,
                            replies + half_count, error);
    }
    plan_fill(plan, batch, requests, count);
    struct pass pass = {.weights = lane->weights,
                        .zones = &lane->zones,
                        .gemm = lane->gemm,
                        .stream = lane->stream,
                        .shared_limit = lane->shared_limit,
                        .plan = plan,
                        .error = error};
    enum bert_status status = small ? run_small(lane, &pass) : run_large(lane, &pass);
    /* Also after an error: what was launched still reads the plan. */
    cudaError_t code = cudaStreamSynchronize(lane->stream);
    STATUS_TRY(status);
    CUDA_TRY(code, error);
    plan_answers(plan, requests, count, replies);
    return BERT_OK;
}

enum bert_status lane_try(struct lane *lane, bool *graphs, struct bert_error *error) {
    static const int32_t ids[2] = {0, 0};
    static const size_t start[2] = {0, 2};
    struct batch batch = {1, 2, ids, start};
    struct request request = {.row = 1, .k = 1};
    struct scored best;
    struct reply reply = {.best = &best};
    enum bert_status status = lane_forward(lane, &batch, &request, 1, &reply, error);
    *graphs = !lane->no_capture;
    return status;
}
