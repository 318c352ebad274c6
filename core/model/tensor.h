/* SPDX-License-Identifier: MIT
 *
 * tensor.h: one tensor of somebody's file: where its bytes are, of what kind, and how to
 * read a row of it as floats, whatever the element type and the strides. */
#ifndef MODEL_TENSOR_H
#define MODEL_TENSOR_H

#include "base/bytes.h"
#include "model/names.h"

enum element {
    ELEMENT_OTHER, /* of a known size, but nothing that we read */
    ELEMENT_F32,
    ELEMENT_F16,
    ELEMENT_BF16,
    ELEMENT_F64,
    ELEMENT_I64,
    ELEMENT_I32,
    ELEMENT_I16,
    ELEMENT_I8,
    ELEMENT_U8,
    ELEMENT_BOOL,
};
size_t element_size(enum element element);      /* bytes; 0 for ELEMENT_OTHER */
const char *element_name(enum element element); /* as safetensors spells it */
enum element element_named(struct span name);

enum { TENSOR_RANK = 8 };

struct tensor {
    const char *name; /* as the file spells it */
    bool known;       /* it is a part of a BERT, and slot says which */
    struct slot slot;
    enum element element;
    int rank;
    uint64_t shape[TENSOR_RANK];
    uint64_t stride[TENSOR_RANK]; /* in elements */
    const unsigned char *data;    /* its first element, in a mapping */
};

/* Row-major strides for the shape. */
void tensor_pack_strides(struct tensor *tensor);
/* Bytes from the first element's begin to the last one's end by shape and strides, 0 when
 * a dimension is 0; false on overflow. */
bool tensor_extent(const struct tensor *tensor, size_t *extent);
/* Elements; false on overflow. */
bool tensor_elements(const struct tensor *tensor, size_t *count);
bool tensor_is_packed(const struct tensor *tensor);

/* A vector counts as one row. */
static inline size_t tensor_rows(const struct tensor *tensor) {
    return tensor->rank == 2 ? tensor->shape[0] : 1;
}
static inline size_t tensor_columns(const struct tensor *tensor) {
    return tensor->rank ? tensor->shape[tensor->rank - 1] : 1;
}

/* Row `row` of a vector or matrix of floats (any ELEMENT_F.. or BF16) as columns floats.
 */
void tensor_row(const struct tensor *tensor, size_t row, float *out);
/* Whether tensor_row can read it. */
bool tensor_is_float(const struct tensor *tensor);

/* Both packed, of one kind, with the same bytes? Where they are the same place in a file
 * nothing is read. */
bool tensor_equal(const struct tensor *a, const struct tensor *b);

#endif
