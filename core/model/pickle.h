/* SPDX-License-Identifier: MIT
 *
 * pickle.h: reads the pickles that torch.save writes, as data. Opcodes and callables
 * outside a short list are refused; nothing is executed, whatever the pickle asks for.
 * Memory is bounded by PICKLE_LIMIT values, and containers may even contain themselves,
 * since nobody walks down into them without a bound. */
#ifndef MODEL_PICKLE_H
#define MODEL_PICKLE_H

#include "base/status.h"
#include "model/tensor.h"

enum { PICKLE_LIMIT = 1000000 };

enum pickle_kind {
    PICKLE_NONE,
    PICKLE_BOOL,
    PICKLE_INTEGER,
    PICKLE_OPAQUE, /* a float, a huge integer: stands for nothing that we need */
    PICKLE_TEXT,
    PICKLE_TUPLE,
    PICKLE_LIST,
    PICKLE_DICT,
    PICKLE_CALLABLE,
    PICKLE_STORAGE,
    PICKLE_TENSOR,
};

struct pickle_storage {
    enum element element;
    struct span key;
    uint64_t count;      /* elements of the whole storage */
    uint64_t view_begin; /* a view's first element */
    uint64_t view_count; /* elements from there on that tensors may use */
};

struct pickle_tensor {
    struct pickle_storage storage;
    uint64_t offset; /* in elements, from view_begin */
    int rank;
    uint64_t shape[TENSOR_RANK], stride[TENSOR_RANK];
};

struct pickle_node;
struct pickle { /* zero-initialised, then pickle_read */
    struct pickle_node *nodes;
    struct pickle_tensor *tensors;
    struct pickle_storage *storages;
    struct pickle_link *links; /* of lists and dicts */
    uint32_t *items;           /* of tuples */
    uint32_t *memo, *stack, *marks;
    size_t node_count, tensor_count, storage_count, link_count, item_count;
    size_t memo_count, stack_count, mark_count;
    size_t node_room, tensor_room, storage_room, link_room, item_room;
    size_t memo_room, stack_room, mark_room;
    uint32_t root;
};

/* Reads one pickle at the begin of bytes, which must outlive the result; *used is its
 * length. Fails with BERT_MODEL and why (without a file name). Release in any case. */
enum bert_status pickle_read(struct pickle *pickle, const unsigned char *bytes,
                             size_t size, size_t *used, struct bert_error *error);
void pickle_release(struct pickle *pickle);

enum pickle_kind pickle_kind(const struct pickle *pickle, uint32_t node);
bool pickle_text(const struct pickle *pickle, uint32_t node, struct span *text);
bool pickle_truth(const struct pickle *pickle, uint32_t node, bool *truth);
const struct pickle_tensor *pickle_tensor(const struct pickle *pickle, uint32_t node);

/* Over a list's items (key is unset) or a dict's members, in order:
 * struct pickle_walk walk = pickle_walk(pickle, node); while (pickle_next(pickle, &walk))
 */
struct pickle_walk {
    uint32_t link, key, value;
};
struct pickle_walk pickle_walk(const struct pickle *pickle, uint32_t node);
bool pickle_next(const struct pickle *pickle, struct pickle_walk *walk);

#endif
