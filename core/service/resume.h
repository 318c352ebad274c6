/* SPDX-License-Identifier: MIT
 *
 * resume.h: how far a run has come, kept beside its output in OUT.part.state, so that
 * another run goes on from there after a crash. It is written after the output that it
 * speaks of is on the disk, and whole or not at all. */
#ifndef SERVICE_RESUME_H
#define SERVICE_RESUME_H

#include "base/status.h"
#include "io/encoding.h"

struct resume {
    uint64_t records, failed;
    uint64_t input, output; /* bytes that these records took and gave */
    uint64_t hash;          /* of that much input */
    enum encoding encoding; /* as decided; ENCODING_AUTO: not yet */
    char *options, *device; /* what the output depends on, as text */
    uint64_t model;
};

/* The path of the state that belongs to NAME.part; malloc'ed, NULL without memory. */
char *resume_path(const char *part);

/* *found false: there is none. A state that cannot be read is BERT_IO. Release it. */
enum bert_status resume_load(struct resume *resume, const char *path, bool *found,
                             struct bert_error *error);
enum bert_status resume_save(const struct resume *resume, const char *path,
                             struct bert_error *error);
void resume_release(struct resume *resume);

/* BERT_USAGE, with what differs, unless `now` can go on where `before` stopped. */
enum bert_status resume_check(const struct resume *before, const struct resume *now,
                              struct bert_error *error);

#endif
