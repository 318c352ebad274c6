/* SPDX-License-Identifier: MIT
 *
 * served_model.c: the front session is opened here, while the old model still answers, so
 * that the thread which reads requests never waits for memory. */
#include "service/served_model.h"

#include <string.h>

static enum bert_status find_mask_id(struct served_model *served,
                                     struct bert_error *error) {
    static const char mask[] = "[MASK]";
    struct bert_tokens tokens;
    enum bert_status status =
        bert_tokenize(served->front, mask, sizeof mask - 1, 0, &tokens, error);
    if (status == BERT_OK && tokens.count != 1)
        status = error_set(error, BERT_MODEL, "the vocabulary has no [MASK]");
    if (status == BERT_OK)
        served->mask_id = tokens.ids[0];
    return status;
}

enum bert_status served_model_new(struct served_model **served, struct bert_model *model,
                                  struct bert_error *error) {
    static atomic_uint_least64_t generations;
    struct served_model *made = calloc(1, sizeof *made);
    if (!made) {
        bert_close(model);
        return error_memory(error);
    }
    made->model = model;
    made->generation = atomic_fetch_add(&generations, 1) + 1;
    atomic_init(&made->users, 1);
    bert_model_info(model, &made->info);
    enum bert_status status = bert_session_new(&made->front, model, 1, error);
    if (status == BERT_OK)
        status = find_mask_id(made, error);
    else
        made->front = NULL;
    if (status != BERT_OK)
        served_model_drop(made);
    else
        *served = made;
    return status;
}

struct served_model *served_model_use(struct served_model *served) {
    atomic_fetch_add(&served->users, 1);
    return served;
}

void served_model_drop(struct served_model *served) {
    if (!served || atomic_fetch_sub(&served->users, 1) != 1)
        return;
    bert_session_free(served->front);
    bert_close(served->model);
    free(served);
}
