/* SPDX-License-Identifier: MIT
 *
 * batch_state.h: when bert-batch keeps how far it has come, and whether it may go on. */
#ifndef CMD_BATCH_STATE_H
#define CMD_BATCH_STATE_H

#include "batch_run.h"

#include "service/job.h"
#include "service/resume.h"
#include "service/sheet.h"

struct batch_state {
    char *path;           /* NULL: the output is no file, nothing is kept */
    bool resuming, saved; /* saved: there is a state to go on from */
    struct resume first;  /* where we go on; else zero */
    struct resume latest; /* what is written, once known */
    bool known;
    double interval, when; /* seconds between two states; when the last was saved */
};

/* With --resume and a state: reads it. Fails unless it suits the options and the model.
 */
enum bert_status batch_state_open(struct batch_state *state, const struct batch *batch,
                                  const struct bert_model *model,
                                  const struct sheet *sheet, struct bert_error *error);
void batch_state_release(struct batch_state *state);

/* Whether the records read so far are those that the state speaks of; last is the last.
 */
enum bert_status batch_state_check(const struct batch_state *state,
                                   const struct record *last, struct bert_error *error);
/* After rows were written: keeps the state when it is time. */
enum bert_status batch_state_written(struct batch_state *state,
                                     const struct job_state *job,
                                     const struct record *last, struct sink *sink,
                                     double now, struct bert_error *error);
enum bert_status batch_state_save(struct batch_state *state, struct sink *sink,
                                  struct bert_error *error);
/* All is done, or begins anew. */
void batch_state_remove(struct batch_state *state);

#endif
