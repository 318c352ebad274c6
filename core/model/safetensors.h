/* SPDX-License-Identifier: MIT
 *
 * safetensors.h: reads the safetensors format (8 bytes of header size, a JSON header, the
 * data), with every check of its reference reader: sizes, overlaps, holes, overflow. */
#ifndef MODEL_SAFETENSORS_H
#define MODEL_SAFETENSORS_H

#include "io/json.h"
#include "model/checkpoint.h"

enum { SAFETENSORS_HEADER_MAX = 100000000 };

/* Adds the tensors of one file. */
enum bert_status safetensors_read(struct checkpoint *checkpoint, const char *path,
                                  struct bert_error *error);

/* One file, or a model.safetensors.index.json or pytorch_model.bin.index.json: the names
 * of the files that it lists, each once, NUL-terminated in the checkpoint's arena. */
enum bert_status safetensors_index(struct checkpoint *checkpoint, const char *path,
                                   const char ***files, size_t *count,
                                   struct bert_error *error);

/* ---- The parts of a file, for model.bert ---- */

struct safetensors_header {
    struct json *json; /* free with json_free */
    size_t data;       /* offset of the data in the file */
};
/* Adds the tensors of a whole file in memory, which stays the caller's. */
enum bert_status safetensors_add(struct checkpoint *checkpoint,
                                 const struct safetensors_header *header,
                                 const void *bytes, size_t size, const char *path,
                                 struct bert_error *error);
/* Checks size and JSON of the header. */
enum bert_status safetensors_header(struct safetensors_header *header, const void *bytes,
                                    size_t size, const char *path,
                                    struct bert_error *error);

#endif
