/* SPDX-License-Identifier: MIT
 *
 * backend.h: what runs a forward pass. The CPU is built in (backend_cpu.c); others are
 * plug-ins opened by backend_load.c, which export one symbol, bert_backend. */
#ifndef NN_BACKEND_H
#define NN_BACKEND_H

#include "base/pool.h"
#include "base/status.h"
#include "model/weights.h"
#include "nn/batch.h"

enum { BACKEND_VERSION = 1 };

struct backend_options {
    int device;      /* index, for CUDA */
    const char *cpu; /* kernel table by name, or NULL */
};

struct backend {
    uint32_t version; /* BACKEND_VERSION */
    const char *kind; /* "cpu", "cuda" */

    /* Whether it can run here: a score above 0 (higher is better), or 0 with why. */
    int (*probe)(const struct backend_options *options, char *why, size_t size);

    /* The weights stay alive until close. *device describes it ("cuda:0 (name)"); it
     * belongs to the handle. */
    enum bert_status (*open)(void **handle, const struct weights *weights,
                             const struct backend_options *options, const char **device,
                             struct bert_error *error);
    void (*close)(void *handle);

    /* Working memory for one caller at a time, for batches up to the sizes given by
     * limits(). threads as in bert_session_new. */
    enum bert_status (*worker_new)(void **worker, void *handle, int threads,
                                   struct bert_error *error);
    void (*worker_free)(void *worker);

    /* Rows that a batch should have for good throughput; a single longer sequence is fine
     * (up to config.positions). max_rows and max_requests are hard limits. */
    void (*limits)(void *worker, size_t *good_rows, size_t *max_rows,
                   size_t *max_requests);

    enum bert_status (*forward)(void *worker, const struct batch *batch,
                                const struct request *requests, size_t count,
                                struct reply *replies, struct bert_error *error);
};

extern const struct backend backend_cpu;

/* What callers promise, checked all the same: a wrong row or id would read anywhere. What
 * is wrong with a batch and its requests, for room for so many rows, or NULL. */
const char *backend_defect(const struct model_config *config, size_t rows,
                           const struct batch *batch, const struct request *requests,
                           size_t count);

/* Finds and opens the plug-in bert-KIND.so: BERT_BACKEND_DIR if set (absolute only), else
 * the folder compiled in. NULL with the reason in why. */
const struct backend *backend_load(const char *kind, char *why, size_t size);

#endif
