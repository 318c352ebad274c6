/* SPDX-License-Identifier: MIT
 *
 * checkpoint.h: the tensors of a model as people have it on disk: a folder or a file of
 * safetensors, PyTorch or TensorFlow, found, mapped and checked against the files' sizes.
 * Nothing in it is executed or trusted. */
#ifndef MODEL_CHECKPOINT_H
#define MODEL_CHECKPOINT_H

#include "base/arena.h"
#include "base/mapping.h"
#include "model/tensor.h"

struct checkpoint {
    const char *format; /* "safetensors", "torch zip", "torch legacy", "tensorflow" */
    const char *path;   /* of the file with the weights, or the first; for messages */
    bool no_mmap;
    struct tensor *tensors;
    size_t count, capacity;
    struct mapping *mappings;
    size_t mapping_count;
    struct arena arena;    /* names, paths */
    struct tensor **index; /* the known ones, by slot */
    size_t index_count;
};

/* path: a folder, a file with weights, or a TensorFlow prefix. Fails with BERT_MODEL. */
enum bert_status checkpoint_open(struct checkpoint *checkpoint, const char *path,
                                 bool no_mmap, struct bert_error *error);
void checkpoint_close(struct checkpoint *checkpoint);

/* NULL when there is none. */
const struct tensor *checkpoint_find(const struct checkpoint *checkpoint, int layer,
                                     enum part part);

/* Changes when the tensors do: their names, shapes and samples of their bytes. */
uint64_t checkpoint_identity(const struct checkpoint *checkpoint);

/* ---- For the readers ---- */

/* Maps a file; *mapping stays valid until another is added. */
enum bert_status checkpoint_map(struct checkpoint *checkpoint, const char *path,
                                struct mapping *mapping, struct bert_error *error);
/* Adds a tensor whose name is copied, finds its slot, and swaps dimensions where the file
 * keeps the kernel transposed. element, rank, shape, stride and place must be set, and
 * checked by the reader: all of its extent lies in the file. */
enum bert_status checkpoint_add(struct checkpoint *checkpoint, struct span name,
                                struct tensor tensor, struct bert_error *error);
/* Ends the adding: builds the table that checkpoint_find reads. BERT_MODEL when two
 * tensors are the same part. */
enum bert_status checkpoint_index(struct checkpoint *checkpoint,
                                  struct bert_error *error);
void *checkpoint_alloc(struct checkpoint *checkpoint, size_t size); /* zeroed */
/* "FILE: it is a Git LFS pointer..." when these bytes begin one. */
enum bert_status checkpoint_refuse_pointer(const struct mapping *mapping,
                                           const char *path, struct bert_error *error);

#endif
