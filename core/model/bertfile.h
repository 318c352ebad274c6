/* SPDX-License-Identifier: MIT
 *
 * bertfile.h: our own file, model.bert, which bert-model(5) describes to the byte: a
 * safetensors file whose weights lie as the kernels read them. */
#ifndef MODEL_BERTFILE_H
#define MODEL_BERTFILE_H

#include "base/mapping.h"
#include "base/pool.h"
#include "model/assemble.h"
#include "model/tokenizer_files.h"

enum { BERTFILE_VERSION = 1 };

const char *precision_name(enum bert_precision precision); /* "f32", "f16", "int8" */

/* ---- Writing ---- */

struct bertfile_input {
    const struct parts *parts;
    const struct tokenizer_settings *tokenizer;
    struct span vocabulary;
    enum bert_precision precision;
    const char *source, *license; /* may be NULL */
    struct pool *pool;            /* or NULL */
    bool hugging_face; /* no model.bert but a plain model.safetensors: no vocabulary, no
                          gaps, the element types of the source unless precision is set */
};

struct bertfile_output { /* writes bytes at an offset of the file, in any order */
    enum bert_status (*write)(void *arg, uint64_t offset, const void *bytes, size_t size,
                              struct bert_error *error);
    void *arg;
};

struct bertfile_item { /* a tensor of the file */
    char name[NAME_SIZE];
    enum element element;
    int rank;
    uint64_t shape[4];
    uint64_t offset, size; /* in the file */
    uint32_t crc;          /* known once it is written */
    bool plain;            /* rows of a part, only converted */
    struct slot slot;      /* of that part */
};

struct bertfile_plan {
    struct bertfile_input input;
    struct bertfile_item *items;
    size_t count, capacity;
    uint64_t header; /* bytes before the first item */
    uint64_t total;  /* of the file */
};

/* Lays the file out. The input must outlive the plan. */
enum bert_status bertfile_plan(struct bertfile_plan *plan,
                               const struct bertfile_input *input,
                               struct bert_error *error);
void bertfile_plan_release(struct bertfile_plan *plan);

/* Called with the bytes of tensors written so far. */
typedef void bertfile_progress(void *arg, uint64_t done, uint64_t total);

/* Writes all tensors; then bertfile_write_header ends the file. Memory: about the largest
 * tensor. Fails with BERT_MODEL on a value that is not finite. */
enum bert_status bertfile_write_tensors(struct bertfile_plan *plan,
                                        const struct bertfile_output *output,
                                        bertfile_progress *progress, void *progress_arg,
                                        struct bert_error *error);
/* source_sha256: 64 hexadecimal digits, or NULL. */
enum bert_status bertfile_write_header(struct bertfile_plan *plan,
                                       const char *source_sha256,
                                       const struct bertfile_output *output,
                                       struct bert_error *error);

/* ---- Reading ---- */

struct bertfile {
    struct config config;
    struct tokenizer_settings tokenizer;
    struct span vocabulary; /* in the bytes */
    enum bert_precision precision;
    char *source, *source_sha256,
        *license; /* malloc'ed; empty where the file is silent */
    char weights_checksum[9];
    uint64_t identity;
    struct checkpoint checkpoint; /* the tensors */
};

/* Whether these bytes begin a model.bert. */
bool bertfile_is(const void *bytes, size_t size);

/* Checks the header, its checksum and all shapes; looks at no weight. bytes must outlive
 * the result; path is for messages. Release it also after a failure. */
enum bert_status bertfile_open(struct bertfile *file, const void *bytes, size_t size,
                               const char *path, struct bert_error *error);
void bertfile_release(struct bertfile *file);

/* Pointers into the bytes; the table of layers is the keeper's. */
enum bert_status bertfile_weights(const struct bertfile *file, struct weights *weights,
                                  struct keeper *keeper, struct bert_error *error);

/* Reads every byte: tensor checksums, and that all floats are finite. */
enum bert_status bertfile_verify(const struct bertfile *file, struct bert_error *error);

#endif
