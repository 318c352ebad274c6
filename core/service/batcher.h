/* SPDX-License-Identifier: MIT
 *
 * batcher.h: a bounded queue of texts in front of the model. Workers, one a core, take
 * what waits together; a text that comes alone to an idle server is started at once and
 * gets all cores.
 *
 *     submit ──► prompt lane ─┐
 *                             ├─► worker: up to 8 texts or a budget of tokens ──► done
 *     submit ──► bulk lane ───┘
 *
 * The prompt lane goes first; a quarter of the passes begins with the bulk lane, so that
 * a large upload goes on under load. Texts share a pass when they have the same word
 * list. */
#ifndef SERVICE_BATCHER_H
#define SERVICE_BATCHER_H

#include "base/bytes.h"
#include "base/status.h"
#include "service/metrics.h"
#include "service/outcome.h"
#include "service/served_model.h"

struct word_list { /* as bert_words_new takes it; list.size 0: none */
    struct span list;
    bool lines;
};

struct ticket { /* one text on its way; belongs to the caller until done */
    struct bert_text text;
    int k; /* 0: the default */
    struct word_list words;
    size_t cost; /* tokens that it makes the model read */
    bool bulk;
    /* Asked before the work, by a worker: false drops it (done with an error). NULL: yes.
     */
    bool (*wanted)(struct ticket *ticket);
    /* Called once, by a worker. outcome is NULL when there is an error (BERT_RECORD and
     * BERT_USAGE are the text's and the word list's fault); it is the batcher's. session
     * and model serve for the time of the call. The ticket may be freed here. */
    void (*done)(struct ticket *ticket, struct outcome *outcome,
                 const struct bert_error *error, struct bert_session *session,
                 struct served_model *model);
    struct ticket *next; /* the batcher's */
};

enum { BATCHER_FAILURES = 3 };

struct batcher;

struct batcher_options {
    int threads;                   /* workers */
    size_t most_texts;             /* of a pass */
    size_t most_tokens;            /* of a pass; a text that costs more goes alone */
    size_t prompt_room, bulk_room; /* texts that may wait */
    struct metrics *metrics;
    /* Called once, by a worker, when the model has failed at BATCHER_FAILURES passes in a
     * row, as it does from the loss of its device on. NULL: nobody is told. */
    void (*broken)(void *arg, const struct bert_error *error);
    void *broken_arg;
};

enum bert_status batcher_new(struct batcher **batcher,
                             const struct batcher_options *options,
                             struct bert_error *error);
/* Ends what waits with an error, finishes what is being computed, and takes nothing more:
 * when it returns, all tickets are done. */
void batcher_stop(struct batcher *batcher);
void batcher_free(struct batcher *batcher);

/* From now on this model, which gains a user, answers; before the first, nothing may be
 * submitted. */
void batcher_set_model(struct batcher *batcher, struct served_model *model);

/* All of them or, where they find no room or it was stopped, none: false. They are of one
 * lane. */
bool batcher_submit(struct batcher *batcher, struct ticket *const *tickets, size_t count);

size_t batcher_waiting(struct batcher *batcher);

#endif
