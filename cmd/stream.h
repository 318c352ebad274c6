/* SPDX-License-Identifier: MIT
 *
 * stream.h: what bert-fill and bert-score do alike: records in from operands, files or
 * standard input, a job over them, bytes out. */
#ifndef CMD_STREAM_H
#define CMD_STREAM_H

#include "common_options.h"

#include "service/job.h"

struct stream {
    struct cli *cli;
    const struct common_options *common;
    const struct record_options
        *records; /* from FORMAT_UNSET: by the first file's name */
    struct bert_model *model;
    bool operands_are_texts;   /* else they are files */
    const char *column;        /* records->column or what stands in for it; may be NULL */
    const char *before_column; /* goes to the job's before; or NULL */
    const char *before_member; /* of JSONL, where it is there; else before; or NULL */
    const char *before;        /* the same for every record; or NULL */
    const char *header;        /* a first line, or NULL */
    size_t batch_tokens;       /* 0: the job's default */
    /* As in struct job_ops; text is the record's, as far as it could be read. */
    enum bert_status (*process)(void *arg, struct bert_session *session,
                                const struct bert_text *texts,
                                struct job_answer *const *answers, size_t count,
                                struct bert_error *error);
    void (*write)(void *arg, const struct record *record, struct span text,
                  struct span answer, const char *why, struct sink *sink);
    void *arg;

    size_t cell, before_cell; /* set by stream_run */
    size_t notes;
};

/* Runs it all; the status goes to stream->cli. */
void stream_run(struct stream *stream);

/* Appends text as one line: line breaks within a record become blanks. */
void stream_put_line(struct buffer *out, const char *bytes, size_t size);
/* answer with "NUMBER\t" before each of its lines. */
void stream_write_rows(const struct record *record, struct span answer,
                       struct sink *sink);
/* {"record":N, then what answer holds (members and the last brace), or the error object.
 */
void stream_write_object(const struct record *record, struct span text,
                         struct span answer, const char *why, struct sink *sink);

#endif
