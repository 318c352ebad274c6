/* SPDX-License-Identifier: MIT
 *
 * packer.c: a queue of rows in front of a backend's forward pass. */
#include "mlm/packer.h"

#include "base/bytes.h"

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

enum bert_status packer_init(struct packer *packer, const struct backend *backend,
                             void *worker, size_t longest, struct bert_error *error) {
    size_t good = 0, max_rows = 0, max_requests = 0;
    backend->limits(worker, &good, &max_rows, &max_requests);
    *packer = (struct packer){.backend = backend, .worker = worker};
    packer->row_limit = smaller(good ? good : 1, max_rows);
    packer->row_room = packer->row_limit > longest ? packer->row_limit : longest;
    packer->request_limit = smaller(max_requests, packer->row_room);
    if (packer->request_limit == 0 || max_rows < longest)
        return error_set(error, BERT_INTERNAL, "the device takes at most %zu rows",
                         max_rows);
    packer->ids = calloc(packer->row_room, sizeof *packer->ids);
    packer->starts = calloc(packer->row_room + 1, sizeof *packer->starts);
    packer->request = calloc(packer->request_limit, sizeof *packer->request);
    packer->reply = calloc(packer->request_limit, sizeof *packer->reply);
    packer->target = calloc(packer->request_limit, sizeof(struct reply *));
    if (packer->ids && packer->starts && packer->request && packer->reply &&
        packer->target)
        return BERT_OK;
    packer_release(packer);
    return error_memory(error);
}

void packer_release(struct packer *packer) {
    free(packer->ids);
    free(packer->starts);
    free(packer->request);
    free(packer->reply);
    free(packer->target);
    *packer = (struct packer){0};
}

void packer_drop(struct packer *packer) {
    packer->sequences = packer->rows = packer->requests = 0;
}

enum bert_status packer_flush(struct packer *packer, struct bert_error *error) {
    if (packer->sequences == 0)
        return BERT_OK;
    struct batch batch = {packer->sequences, packer->rows, packer->ids, packer->starts};
    enum bert_status status = packer->backend->forward(
        packer->worker, &batch, packer->request, packer->requests, packer->reply, error);
    for (size_t i = 0; status == BERT_OK && i < packer->requests; i++)
        *packer->target[i] = packer->reply[i];
    packer_drop(packer);
    return status;
}

/* A sequence with at most request_limit asks. */
static enum bert_status add_part(struct packer *packer, const int32_t *ids, size_t count,
                                 const struct ask *asks, size_t ask_count,
                                 struct bert_error *error) {
    if (packer->rows && (packer->rows + count > packer->row_limit ||
                         packer->requests + ask_count > packer->request_limit)) {
        enum bert_status status = packer_flush(packer, error);
        if (status != BERT_OK)
            return status;
    }
    memcpy(packer->ids + packer->rows, ids, count * sizeof *ids);
    for (size_t i = 0; i < ask_count; i++) {
        const struct ask *ask = &asks[i];
        packer->request[packer->requests] =
            (struct request){.row = packer->rows + ask->row,
                             .k = ask->k,
                             .allowed = ask->allowed,
                             .listed = ask->listed,
                             .listed_count = ask->listed_count};
        packer->reply[packer->requests] = *ask->reply;
        packer->target[packer->requests++] = ask->reply;
    }
    packer->rows += count;
    packer->starts[++packer->sequences] = packer->rows;
    return BERT_OK;
}

enum bert_status packer_add(struct packer *packer, const int32_t *ids, size_t count,
                            const struct ask *asks, size_t ask_count,
                            struct bert_error *error) {
    enum bert_status status = BERT_OK;
    for (size_t done = 0; done < ask_count && status == BERT_OK;) {
        size_t part = smaller(ask_count - done, packer->request_limit);
        status = add_part(packer, ids, count, asks + done, part, error);
        done += part;
    }
    return status;
}
