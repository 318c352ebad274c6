/* SPDX-License-Identifier: MIT
 *
 * packer.h: packs sequences and what is asked of them into batches that a backend takes
 * well, and runs each batch as soon as it is full. Replies are there after packer_flush.
 */
#ifndef MLM_PACKER_H
#define MLM_PACKER_H

#include "nn/backend.h"

struct ask {    /* one row of a sequence whose token is wanted; see struct request */
    size_t row; /* in the sequence */
    int k;
    const uint64_t *allowed;
    const int32_t *listed;
    size_t listed_count;
    struct reply *reply; /* best and listed give the room; alive until the flush */
};

struct packer {
    const struct backend *backend;
    void *worker;
    size_t row_limit, request_limit;
    size_t sequences, rows, requests;
    size_t row_room;
    int32_t *ids;            /* (row_room) */
    size_t *starts;          /* (row_room + 1) */
    struct request *request; /* (request_limit) */
    struct reply *reply;     /* (request_limit) */
    struct reply **target;   /* (request_limit) */
};

/* longest: tokens of the longest sequence that will come. */
enum bert_status packer_init(struct packer *packer, const struct backend *backend,
                             void *worker, size_t longest, struct bert_error *error);
void packer_release(struct packer *packer);

/* Adds a sequence ([CLS] and [SEP] included, count <= longest) and its asks by rising
 * row; ids are copied, what an ask points to must live until the flush. */
enum bert_status packer_add(struct packer *packer, const int32_t *ids, size_t count,
                            const struct ask *asks, size_t ask_count,
                            struct bert_error *error);

/* Runs what waits. */
enum bert_status packer_flush(struct packer *packer, struct bert_error *error);

/* Forgets what waits; after an error. */
void packer_drop(struct packer *packer);

#endif
