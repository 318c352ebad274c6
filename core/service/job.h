/* SPDX-License-Identifier: MIT
 *
 * job.h: records in, records out, in order: the one path of all filters.
 *
 *   reader thread ──► ring of batches ──► workers (a session each) ──► writer (the
 * caller) read, prepare,    at most a few per    process the texts of one     writes
 * batches in drop equal texts  worker, bounded      batch at a time              input
 * order
 *
 * A batch closes when its texts reach a budget of tokens, or as soon as the input has
 * nothing ready: such a lone batch is answered by a session that uses all threads. What a
 * text gets depends on the text alone, so output has the same bytes for any number of
 * threads, any budget, and with equal texts computed once or each time. */
#ifndef SERVICE_JOB_H
#define SERVICE_JOB_H

#include "base/bytes.h"
#include "base/status.h"
#include "io/records.h"
#include "io/sink.h"

struct job;

struct job_answer {            /* of one text; several records may share it */
    struct buffer out;         /* what write gets; process appends */
    enum bert_status status;   /* BERT_RECORD: see error. Set it by job_fail */
    struct buffer error, note; /* NUL-terminated where not empty */
};
void job_fail(struct job_answer *answer, const char *why);
void job_note(struct job_answer *answer, const char *note); /* a remark for the user */

struct job_ops {
    void *context; /* the first argument of each */

    /* In the reader's thread, in order: appends the text to be answered, valid UTF-8, and
     * what is read before it (struct bert_text; nothing when left empty). BERT_RECORD
     * fails this record alone. */
    enum bert_status (*prepare)(void *context, const struct record *record,
                                struct buffer *text, struct buffer *before,
                                struct bert_error *error);

    /* In a worker's thread: count texts, as many answers, all empty. Nothing in an answer
     * may depend on the record or on other texts. A failure ends the job. session is NULL
     * when the job has no model. */
    enum bert_status (*process)(void *context, struct bert_session *session,
                                const struct bert_text *texts,
                                struct job_answer *const *answers, size_t count,
                                struct bert_error *error);

    /* In the caller's thread, in order: one record with its answer, or with why it has
     * none (then answer is empty; why may hold any bytes of the record). */
    void (*write)(void *context, const struct record *record, struct span answer,
                  const char *why, struct sink *sink);
};

struct job_state { /* of this run */
    uint64_t records, failed, unique;
};

struct job_options { /* all zero is the default */
    struct bert_model *model;
    int threads;         /* workers; 0: all usable cores */
    size_t batch_tokens; /* 0: the default */
    bool keep_equal;     /* compute equal texts each time */
    /* A failed record, in order; file NULL is standard input. False stops the job. */
    bool (*failed)(void *arg, const char *file, uint64_t line, const char *why);
    void (*note)(void *arg, const char *file, uint64_t line, const char *note);
    /* After a batch was written (to the sink, not yet flushed). last is its last record.
     */
    enum bert_status (*written)(void *arg, const struct job_state *state,
                                const struct record *last, struct bert_error *error);
    /* About five times a second, if nothing else happens. */
    void (*tick)(void *arg, const struct job_state *state);
    void *arg; /* of the functions above */
};

struct job_report {
    struct job_state state;
    double seconds;
    double batch_p50, batch_p95; /* seconds of a batch in process */
    bool stopped;                /* by job_stop, before the input's end */
};

/* The job comes before its records: job_watch() sets in their options that they tell the
 * job when their input has nothing ready, and end when the job does. */
enum bert_status job_new(struct job **job, const struct job_options *options,
                         struct bert_error *error);
void job_free(struct job *job); /* after the records */
void job_watch(struct job *job, struct source_options *options);
/* Finishes what is begun, and ends. Safe in a signal handler, any thread, any number of
 * times. */
void job_stop(struct job *job);

/* Runs once. BERT_OK also when records failed (see report); BERT_RECORD when failed()
 * said stop. The report is filled in any case. The sink is flushed whenever nothing is
 * ready to be written, and at the end; it is not closed. */
enum bert_status job_run(struct job *job, struct records *records,
                         const struct job_ops *ops, struct sink *sink,
                         struct job_report *report, struct bert_error *error);

#endif
