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

/* A major version of CUDA runs on any driver of that version or later. */
static bool driver_fits(char *why, size_t size) {
    int driver = 0, runtime = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
        snprintf(why, size, "no NVIDIA driver");
    else if (cudaRuntimeGetVersion(&runtime) != cudaSuccess ||
             driver / 1000 < runtime / 1000)
        snprintf(why, size, "the NVIDIA driver is for CUDA %d.%d, %d.0 is needed",
                 driver / 1000, driver % 1000 / 10, runtime / 1000);
    else
        return true;
    return false;
}

static bool device_there(int device, char *why, size_t size) {
    int count = 0;
    cudaError_t code = cudaGetDeviceCount(&count);
    if (code != cudaSuccess)
        snprintf(why, size, "%s", cudaGetErrorString(code));
    else if (device < 0 || device >= count)
        snprintf(why, size, "no CUDA device %d, there %s %d", device,
                 count == 1 ? "is" : "are", count);
    else
        return true;
    return false;
}

static int cuda_probe(const struct backend_options *options, char *why, size_t size) {
    size_t available = 0, total = 0;
    struct cudaDeviceProp properties;
    if (!driver_fits(why, size) || !device_there(options->device, why, size))
        return 0;
    cudaError_t code = cudaSetDevice(options->device);
    if (code == cudaSuccess)
        code = cudaGetDeviceProperties(&properties, options->device);
    if (code == cudaSuccess)
        code = cudaMemGetInfo(&available, &total);
    if (code != cudaSuccess)
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
    const struct model_config *config = &weights->config;
    STATUS_TRY(check_config(config, error));
    STATUS_TRY(attention_prepare(config->hidden / config->heads, config->positions,
                                 h->shared_limit, error));
    STATUS_TRY(device_weights_new(&h->weights, weights, error));
    STATUS_TRY(take_lanes(h, error));
    bool graphs;
    STATUS_TRY(lane_try(h->lanes[0], &graphs, error));
    snprintf(h->description, sizeof h->description, "cuda:%d (%s%s)", h->device,
             properties.name, graphs ? "" : ", without graphs");
    return BERT_OK;
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
        cudaGetLastError(); /* reported */
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
    const char *why =
        backend_defect(&h->weights->config, (size_t)h->rows, batch, requests, count);
    if (why != NULL)
        return error_set(error, BERT_INTERNAL, "CUDA: %s", why);
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
