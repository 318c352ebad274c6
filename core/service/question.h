/* SPDX-License-Identifier: MIT
 *
 * question.h: a text before it goes to the model: how many masks it has, what it costs,
 * and the key that equal questions share whatever their blanks and letter case. */
#ifndef SERVICE_QUESTION_H
#define SERVICE_QUESTION_H

#include "base/bytes.h"
#include "service/batcher.h"
#include "service/served_model.h"

enum {
    QUESTION_MOST_MASKS = 128,
    QUESTION_MOST_ANSWERS = 10000, /* masks times top_k */
    QUESTION_MOST_COST = 16384,    /* tokens, over all windows of a long text */
    QUESTION_MOST_READ = 131072,   /* tokens, over all beginnings of longer words */
};

struct question {
    struct buffer key; /* of the cache */
    size_t tokens, cost;
    size_t answers; /* at most, of all its masks */
};

struct question_options {
    int k;
    struct word_list words;
    const struct bert_words *compiled; /* words, or NULL */
    bool refuse_long;
};

/* text is valid UTF-8. Fails with BERT_RECORD, a message, and *code, a word for programs:
 * "no_mask", "too_many_masks", "too_many_answers", "too_long". */
enum bert_status question_check(struct question *question, struct bert_session *session,
                                const struct served_model *model, struct span text,
                                const struct question_options *options, const char **code,
                                struct bert_error *error);
void question_release(struct question *question);

/* Each line of targets must be exactly one known token. */
enum bert_status question_check_targets(struct bert_session *session,
                                        const struct served_model *model,
                                        struct span targets, struct bert_error *error);

#endif
