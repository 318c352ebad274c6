/* SPDX-License-Identifier: MIT
 *
 * torchstate.h: what both layouts of torch.save share: a pickled state dict whose tensors
 * are views of storages that lie elsewhere. */
#ifndef MODEL_TORCHSTATE_H
#define MODEL_TORCHSTATE_H

#include "model/checkpoint.h"
#include "model/pickle.h"

struct torch_storage {
    struct span key;
    enum element element;
    uint64_t count;
    const unsigned char *data; /* in a mapping, once the reader has found it, else NULL */
};

struct torch_state {
    struct torch_storage *storages; /* by key, each once */
    size_t count;
};

/* The storages that the pickle names. BERT_MODEL when it says two things of one. */
enum bert_status torch_state_begin(struct torch_state *state, const struct pickle *pickle,
                                   const char *path, struct bert_error *error);
struct torch_storage *torch_state_find(const struct torch_state *state, struct span key);
/* Adds the tensors of the state dict, checked against their storages. */
enum bert_status torch_state_add(const struct torch_state *state,
                                 const struct pickle *pickle,
                                 struct checkpoint *checkpoint, const char *path,
                                 struct bert_error *error);
void torch_state_end(struct torch_state *state);

#endif
