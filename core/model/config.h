/* SPDX-License-Identifier: MIT
 *
 * config.h: config.json of Hugging Face and bert_config.json of Google: the sizes of a
 * model, and the refusal of what is no BERT. */
#ifndef MODEL_CONFIG_H
#define MODEL_CONFIG_H

#include "base/bytes.h"
#include "base/status.h"
#include "model/weights.h"

struct config {
    struct model_config model; /* vocabulary, positions and types: 0 where the file is
                                  silent, and the tensors decide */
    bool tied;                 /* tie_word_embeddings; default true */
};

enum { CONFIG_SIZE_MAX = 1 << 20 };

/* name is for messages. */
enum bert_status config_parse(struct config *config, struct span json, const char *name,
                              struct bert_error *error);
/* config.json, else bert_config.json of the folder in which model lies or which it is;
 * model is for messages. */
enum bert_status config_read(struct config *config, const char *folder, const char *model,
                             struct bert_error *error);
/* As Hugging Face writes it. */
void config_write(const struct config *config, struct buffer *out);

#endif
