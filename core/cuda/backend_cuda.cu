/* SPDX-License-Identifier: MIT
 *
 * backend_cuda.cu: the plug-in's one exported symbol. A handle is the weights on a device
 * and its lanes; callers take turns at the lanes, so any number of threads may feed it.
 */
extern "C" {
#include "nn/backend.h"
}

#include "cuda/lane.cuh"

#include <pthread.h>

enum {
    LANES = 2,
    LEAST_MEMORY = 512 << 20, /* bytes free, below which a model has no chance */
};

struct handle {
    int device;
    size_t shared_limit;
    struct device_weights *weights;
    struct lane *lanes[LANES];
    bool busy[LANES];
    int lane_count, rows;
    pthread_mutex_t mutex;
    pthread_cond_t freed;
    char description[300];
};

static const char *driver_problem(void) {
    int driver = 0, runtime = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
        return "no NVIDIA driver";
    if (cudaRuntimeGetVersion(&runtime) == cudaSuccess && driver / 1000 < runtime / 1000)
        return "the NVIDIA driver is older than this plug-in's CUDA";
    return NULL;
}

static int cuda_probe(const struct backend_options *options, char *why, size_t size) {
    const char *problem = driver_problem();
    int count = 0;
    size_t available = 0, total = 0;
    struct cudaDeviceProp properties;
    cudaError_t code = problem != NULL ? cudaSuccess : cudaGetDeviceCount(&count);
    if (problem != NULL)
        snprintf(why, size, "%s", problem);
    else if (code != cudaSuccess)
        snprintf(why, size, "%s", cudaGetErrorString(code));
    else if (count == 0)
        snprintf(why, size, "no CUDA device");
    else if (options->device < 0 || options->device >= count)
        snprintf(why, size, "no CUDA device %d, there %s %d", options->device,
                 count == 1 ? "is" : "are", count);
    else if ((code = cudaSetDevice(options->device)) != cudaSuccess ||
             (code = cudaGetDeviceProperties(&properties, options->device)) !=
                 cudaSuccess ||
             (code = cudaMemGetInfo(&available, &total)) != cudaSuccess)
        snprintf(why, size, "%s", cudaGetErrorString(code));
    else if (properties.major * 10 + properties.minor < 75)
        snprintf(why, size, "%s has compute capability %d.%d, 7.5 is needed",
                 properties.name, properties.major, properties.minor);
    else if (available < LEAST_MEMORY)
        snprintf(why, size, "%s has %zu MB free, %d MB are needed", properties.name,
                 available >> 20, LEAST_MEMORY >> 20);
    else
        return 10 * properties.major + properties.minor;
    return 0;
}

static void cuda_close(void *arg) {
    struct handle *h = (struct handle *)arg;
    if (h == NULL)
        return;
    cudaSetDevice(h->device);
    for (int i = 0; i < LANES; i++)
        lane_free(h->lanes[i]);
    device_weights_free(h->weights);
    pthread_mutex_destroy(&h->mutex);
    pthread_cond_destroy(&h->freed);
    free(h);
}

/* What this backend does not do is refused by name. */
static enum bert_status check_config(const struct model_config *c,
                                     struct bert_error *error) {
    if (c->hidden % 8 != 0 || c->intermediate % 8 != 0)
        return error_set(error, BERT_MODEL,
                         "CUDA: hidden size %d and intermediate size %d "
                         "must be multiples of 8",
                         c->hidden, c->intermediate);
    if (c->hidden / c->heads > ATTENTION_WIDTH)
        return error_set(error, BERT_MODEL,
                         "CUDA: a head is %d wide, at most %d are supported",
                         c->hidden / c->heads, ATTENTION_WIDTH);
    if (c->intermediate < c->hidden)
        return error_set(error, BERT_MODEL,
                         "CUDA: intermediate size %d is below hidden size %d",
                         c->intermediate, c->hidden);
    return BERT_OK;
}

/* Two lanes of many rows where memory allows, down to one of few. */
static enum bert_status take_lanes(struct handle *h, struct bert_error *error) {
    int least = (h->weights->config.positions + LANE_LEAST_ROWS - 1) / LANE_LEAST_ROWS *
                LANE_LEAST_ROWS;
    enum bert_status status = BERT_OK;
    for (h->rows = LANE_ROWS > least ? (int)LANE_ROWS : least;; h->rows /= 2) {
        if (h->rows < least)
            h->rows = least;
        for (h->lane_count = 0; h->lane_count < LANES; h->lane_count++) {
            status = lane_new(&h->lanes[h->lane_count], h->weights, h->rows,
                              h->shared_limit, error);
            if (status != BERT_OK)
                break;
        }
        cudaGetLastError(); /* running out of memory is no defect */
        if (h->lane_count == LANES || (h->lane_count == 1 && h->rows == least))
            return BERT_OK;
        for (int i = 0; i < h->lane_count; i++) {
            lane_free(h->lanes[i]);
            h->lanes[i] = NULL;
        }
        if (h->rows == least && h->lane_count == 0)
            return status;
    }
}

static enum bert_status open_device(struct handle *h, const struct weights *weights,
                                    struct bert_error *error) {
    struct cudaDeviceProp properties;
    int shared = 0;
    CUDA_TRY(cudaSetDevice(h->device), error);
    CUDA_TRY(cudaGetDeviceProperties(&properties, h->device), error);
    CUDA_TRY(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                    h->device),
             error);
    h->shared_limit = (size_t)shared;
    snprintf(h->description, sizeof h->description, "cuda:%d (%s)", h->device,
             properties.name);
    STATUS_TRY(check_config(&weights->config, error));
    STATUS_TRY(attention_prepare(h->shared_limit, error));
    STATUS_TRY(device_weights_new(&h->weights, weights, error));
    return take_lanes(h, error);
}

static enum bert_status cuda_open(void **result, const struct weights *weights,
                                  const struct backend_options *options,
                                  const char **device, struct bert_error *error) {
    struct handle *h = (struct handle *)calloc(1, sizeof *h);
    if (h == NULL)
        return error_memory(error);
    h->device = options->device;
    pthread_mutex_init(&h->mutex, NULL);
    pthread_cond_init(&h->freed, NULL);
    enum bert_status status = open_device(h, weights, error);
    if (status != BERT_OK) {
        cuda_close(h);
        return status;
    }
    *device = h->description;
    *result = h;
    return BERT_OK;
}

/* A worker is the handle itself: all its memory belongs to the lanes. */
static enum bert_status cuda_worker_new(void **worker, void *handle, int threads,
                                        struct bert_error *error) {
    *worker = handle;
    return BERT_OK;
}

static void cuda_worker_free(void *worker) {
}

static void cuda_limits(void *worker, size_t *good_rows, size_t *max_rows,
                        size_t *max_requests) {
    const struct handle *h = (const struct handle *)worker;
    *good_rows = *max_rows = *max_requests = (size_t)h->rows;
}

static int take_lane(struct handle *h) {
    int lane = -1;
    pthread_mutex_lock(&h->mutex);
    while (lane < 0) {
        for (int i = 0; i < h->lane_count && lane < 0; i++)
            if (!h->busy[i])
                lane = i;
        if (lane < 0)
            pthread_cond_wait(&h->freed, &h->mutex);
    }
    h->busy[lane] = true;
    pthread_mutex_unlock(&h->mutex);
    return lane;
}

static void give_lane(struct handle *h, int lane) {
    pthread_mutex_lock(&h->mutex);
    h->busy[lane] = false;
    pthread_cond_signal(&h->freed);
    pthread_mutex_unlock(&h->mutex);
}

static enum bert_status cuda_forward(void *worker, const struct batch *batch,
                                     const struct request *requests, size_t count,
                                     struct reply *replies, struct bert_error *error) {
    struct handle *h = (struct handle *)worker;
    if (count == 0)
        return BERT_OK;
    if (batch->rows > (size_t)h->rows || count > (size_t)h->rows)
        return error_set(error, BERT_INTERNAL,
                         "CUDA: a batch of %zu rows, at most %d fit", batch->rows,
                         h->rows);
    CUDA_TRY(cudaSetDevice(h->device), error); /* a thread's first call */
    int lane = take_lane(h);
    enum bert_status status =
        lane_forward(h->lanes[lane], batch, requests, count, replies, error);
    give_lane(h, lane);
    return status;
}

extern "C" __attribute__((visibility("default"))) const struct backend bert_backend;
const struct backend bert_backend = {
    .version = BACKEND_VERSION,
    .kind = "cuda",
    .probe = cuda_probe,
    .open = cuda_open,
    .close = cuda_close,
    .worker_new = cuda_worker_new,
    .worker_free = cuda_worker_free,
    .limits = cuda_limits,
    .forward = cuda_forward,
};
