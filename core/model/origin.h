/* SPDX-License-Identifier: MIT
 *
 * origin.h: a model on disk, whatever its form, before its weights are made ready: the
 * tensors checked against the configuration, the tokenizer's settings, the vocabulary. */
#ifndef MODEL_ORIGIN_H
#define MODEL_ORIGIN_H

#include "model/bertfile.h"

struct origin {
    struct mapping mapping;   /* of a model.bert */
    struct bertfile bertfile; /* in it; precision BERT_PRECISION_DEFAULT: it is none */
    struct checkpoint checkpoint; /* of a folder */
    struct tokenizer_files tokenizer;
    struct config config;
    struct parts parts; /* unset for tokenizer_only and for int8 weights */
    const char *format;
};

/* path as for loader_open. Release it also after a failure. */
enum bert_status origin_open(struct origin *origin, const char *path,
                             const struct loader_options *options,
                             struct bert_error *error);
void origin_release(struct origin *origin);

static inline bool origin_is_bertfile(const struct origin *origin) {
    return origin->bertfile.precision != BERT_PRECISION_DEFAULT;
}

#endif
