/* SPDX-License-Identifier: MIT
 *
 * served_model.h: an open model with its users counted, so that a new one can take its
 * place while the old one finishes what it began. */
#ifndef SERVICE_SERVED_MODEL_H
#define SERVICE_SERVED_MODEL_H

#include "base/status.h"

#include <stdatomic.h>

struct served_model {
    struct bert_model *model;
    struct bert_info info;
    uint64_t generation; /* differs between any two models of this process */
    int32_t mask_id;
    struct bert_session *front; /* for the one thread that reads requests */
    atomic_int users;
};

/* Takes the model over, also when it fails. The caller is the first user. */
enum bert_status served_model_new(struct served_model **served, struct bert_model *model,
                                  struct bert_error *error);
struct served_model *served_model_use(struct served_model *served);
void served_model_drop(
    struct served_model *served); /* the last one closes; NULL is fine */

#endif
