/* SPDX-License-Identifier: MIT
 *
 * parts.h: the tensors of a checkpoint against its configuration: each part there once,
 * in the shape that the sizes demand, before anything is read. */
#ifndef MODEL_PARTS_H
#define MODEL_PARTS_H

#include "model/checkpoint.h"
#include "model/config.h"

struct shape { /* of a part; rows 0: a vector */
    size_t rows, columns;
};
struct shape part_shape(const struct model_config *model, enum part part);

typedef void note_function(void *arg, const char *line);

struct parts {
    const struct checkpoint *checkpoint;
    struct config
        config; /* completed from the tensors; tied: the decoder is the word table */
    const struct tensor *decoder_weight, *decoder_bias;
};

/* Fails with BERT_MODEL when a tensor is missing, has another shape, or holds no floats,
 * or when there is no masked-LM head. note (may be NULL) hears of a decoder that differs
 * from the word table although the configuration ties them. */
enum bert_status parts_check(struct parts *parts, const struct checkpoint *checkpoint,
                             const struct config *config, note_function *note,
                             void *note_arg, struct bert_error *error);

/* The tensor of a part after parts_check; the two of the decoder are the effective ones,
 * PART_HEAD_BIAS is the decoder's bias. */
const struct tensor *parts_get(const struct parts *parts, int layer, enum part part);

#endif
