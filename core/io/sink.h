/* SPDX-License-Identifier: MIT
 *
 * sink.h: buffered output to standard output, a file or memory, with an error that
 * sticks. A named regular file is written as NAME.part, which is locked, and takes its
 * name only when it is complete and on the disk; until then an older file of that name is
 * untouched. */
#ifndef IO_SINK_H
#define IO_SINK_H

#include "base/bytes.h"
#include "base/status.h"

struct sink;

/* The path of NAME.part that sink_open would write, malloc'ed; NULL for what is written
 * in place, and without memory. */
char *sink_part_of(const char *path);

/* path NULL or "-" is standard output. NAME.part is created anew; with keep it is opened
 * as it is, to be cut by sink_cut(). What is no regular file (/dev/null, a pipe) is
 * written in place. Fails with BERT_IO, also when another process is writing NAME.part.
 */
enum bert_status sink_open(struct sink **sink, const char *path, bool keep,
                           struct bert_error *error);
/* Appends to buffer, which stays the caller's. */
enum bert_status sink_open_memory(struct sink **sink, struct buffer *buffer,
                                  struct bert_error *error);

/* After a failure these do nothing; sink_flush and sink_close report it. */
void sink_write(struct sink *sink, const void *bytes, size_t size);
void sink_text(struct sink *sink, const char *text);
/* Fails it because memory for what was to be written ran out. */
void sink_no_memory(struct sink *sink);

enum bert_status sink_flush(struct sink *sink, struct bert_error *error);
/* Flushes and waits until the bytes are on the disk (regular files only). */
enum bert_status sink_sync(struct sink *sink, struct bert_error *error);
/* Cuts NAME.part to size bytes and writes on from there; BERT_IO when it is shorter. */
enum bert_status sink_cut(struct sink *sink, uint64_t size, struct bert_error *error);

enum sink_end {
    SINK_COMMIT, /* flush, sync, rename NAME.part to NAME */
    SINK_KEEP,   /* flush, and leave NAME.part to be resumed */
    SINK_DROP    /* remove NAME.part */
};
/* Ends and frees; after a failure nothing is renamed. Standard output is not closed. */
enum bert_status sink_close(struct sink *sink, enum sink_end end,
                            struct bert_error *error);

uint64_t sink_offset(const struct sink *sink); /* bytes written, buffered ones included */
/* Whether the reader went away (EPIPE): programs then end without a message. */
bool sink_reader_gone(const struct sink *sink);
bool sink_failed(const struct sink *sink);

#endif
