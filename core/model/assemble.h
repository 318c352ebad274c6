/* SPDX-License-Identifier: MIT
 *
 * assemble.h: struct weights in f32 or f16 from a checkpoint: in place where the mapped
 * bytes are what the kernels read, else copied. */
#ifndef MODEL_ASSEMBLE_H
#define MODEL_ASSEMBLE_H

#include "model/parts.h"
#include "model/weights.h"

struct kept;    /* one block */
struct keeper { /* memory that lives as long as the weights; zero-initialised is empty */
    struct kept *first;
};
/* 64-byte aligned, uninitialised; NULL without memory. */
void *keeper_alloc(struct keeper *keeper, size_t size);
void keeper_release(struct keeper *keeper);

/* precision: BERT_F32 or BERT_F16. The checkpoint must outlive the weights. */
enum bert_status assemble(struct weights *weights, struct keeper *keeper,
                          const struct parts *parts, enum bert_precision precision,
                          struct bert_error *error);

#endif
