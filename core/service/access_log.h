/* SPDX-License-Identifier: MIT
 *
 * access_log.h: lines for stderr, written by a thread of their own, so that a reader that
 * stands still (a full pipe) never holds up an answer: lines that find no room are
 * counted and told about later. */
#ifndef SERVICE_ACCESS_LOG_H
#define SERVICE_ACCESS_LOG_H

#include "base/bytes.h"
#include "base/status.h"

struct access_log;

struct access_entry {
    const char *peer, *method;
    struct span path; /* without the query, which holds texts */
    unsigned status;
    bool complete; /* the client took the whole answer */
    uint64_t received, sent;
    double seconds;
    const char *model_part; /* "hit", "3 texts" or NULL */
    struct span text;       /* what was asked; empty unless texts may be logged */
};

/* json: one object a line. quiet: access_log_entry does nothing. */
enum bert_status access_log_new(struct access_log **log, int file, bool json, bool quiet,
                                struct bert_error *error);
/* Writes what is there (for at most a second) and ends. */
void access_log_free(struct access_log *log);

void access_log_entry(struct access_log *log, const struct access_entry *entry);
/* A line about the server itself ("ready", "model reloaded"). */
void access_log_note(struct access_log *log, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
