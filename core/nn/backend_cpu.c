/* SPDX-License-Identifier: MIT
 *
 * backend_cpu.c: the backend that is always there. A handle is the weights and a kernel
 * table; a worker is a workspace and, for more than one thread, a pool. */
#include "nn/backend.h"

#include "base/cpu.h"
#include "nn/encoder.h"
#include "nn/head.h"

/* Rows of a batch for throughput: enough that what is read once a batch (the vocabulary
 * above all) is shared by many. Rows that are fed forward together are fewer: their wide
 * activations fill half of a core's second-level cache. */
enum { GOOD_ROWS = 256, GOOD_ROWS_A_THREAD = 128, GOOD_ROWS_MOST = 1024 };
enum { FEED_ROWS_A_THREAD = 64 };

struct cpu_handle {
    const struct weights *weights;
    const struct kernel_table *table;
};

struct cpu_worker {
    struct pass pass;
    size_t good_rows;
};

static int cpu_probe(const struct backend_options *options, char *why, size_t size) {
    if (kernel_select(options->cpu) != NULL)
        return 1;
    snprintf(why, size, "no kernels named %s on this machine", options->cpu);
    return 0;
}

static enum bert_status cpu_open(void **handle, const struct weights *weights,
                                 const struct backend_options *options,
                                 const char **device, struct bert_error *error) {
    const struct kernel_table *table = kernel_select(options->cpu);
    if (table == NULL)
        return error_set(error, BERT_USAGE, "no kernels named %s on this machine",
                         options->cpu);
    struct cpu_handle *cpu = malloc(sizeof *cpu);
    if (cpu == NULL)
        return error_memory(error);
    *cpu = (struct cpu_handle){weights, table};
    *handle = cpu;
    *device = "cpu";
    return BERT_OK;
}

static void cpu_close(void *handle) {
    free(handle);
}

static void cpu_worker_free(void *arg) {
    struct cpu_worker *worker = arg;
    if (worker == NULL)
        return;
    pool_free(worker->pass.pool);
    workspace_release(&worker->pass.workspace);
    free(worker);
}

static size_t good_rows(int threads) {
    size_t rows = GOOD_ROWS_A_THREAD * (size_t)threads;
    return rows < GOOD_ROWS ? GOOD_ROWS : rows > GOOD_ROWS_MOST ? GOOD_ROWS_MOST : rows;
}

static enum bert_status cpu_worker_new(void **result, void *handle, int threads,
                                       struct bert_error *error) {
    const struct cpu_handle *cpu = handle;
    struct cpu_worker *worker = calloc(1, sizeof *worker);
    if (worker == NULL)
        return error_memory(error);
    if (threads < 1)
        threads = cpu_usable_cores();
    worker->pass.table = cpu->table;
    worker->pass.weights = cpu->weights;
    worker->good_rows = good_rows(threads);
    size_t rows = (size_t)cpu->weights->config.positions;
    size_t feed = FEED_ROWS_A_THREAD * (size_t)threads;
    if (rows < worker->good_rows)
        rows = worker->good_rows;
    enum bert_status status = workspace_init(&worker->pass.workspace, cpu->weights, rows,
                                             feed < rows ? feed : rows, error);
    if (status == BERT_OK && threads > 1)
        status = pool_new(&worker->pass.pool, threads, error);
    if (status != BERT_OK)
        cpu_worker_free(worker);
    else
        *result = worker;
    return status;
}

static void cpu_limits(void *arg, size_t *good_rows, size_t *max_rows,
                       size_t *max_requests) {
    const struct cpu_worker *worker = arg;
    *good_rows = worker->good_rows;
    *max_rows = worker->pass.workspace.rows;
    *max_requests = worker->pass.workspace.rows;
}

static enum bert_status cpu_forward(void *arg, const struct batch *batch,
                                    const struct request *requests, size_t count,
                                    struct reply *replies, struct bert_error *error) {
    struct cpu_worker *worker = arg;
    const char *why = backend_defect(&worker->pass.weights->config,
                                     worker->pass.workspace.rows, batch, requests, count);
    if (why != NULL)
        return error_set(error, BERT_INTERNAL, "forward pass: %s", why);
    if (count > 0) {
        encoder_run(&worker->pass, batch, requests, count);
        head_run(&worker->pass, requests, count, replies);
    }
    return BERT_OK;
}

const struct backend backend_cpu = {
    .version = BACKEND_VERSION,
    .kind = "cpu",
    .probe = cpu_probe,
    .open = cpu_open,
    .close = cpu_close,
    .worker_new = cpu_worker_new,
    .worker_free = cpu_worker_free,
    .limits = cpu_limits,
    .forward = cpu_forward,
};
