/* SPDX-License-Identifier: MIT
 *
 * source.h: buffered input from a file, standard input or memory, as UTF-8. Its user
 * looks at a window of the bytes to come and consumes from its front. Offsets count bytes
 * of the decoded input behind the byte-order mark, which is dropped. */
#ifndef IO_SOURCE_H
#define IO_SOURCE_H

#include "base/bytes.h"
#include "base/status.h"
#include "io/encoding.h"

struct source;

struct source_options { /* all zero is the default */
    enum encoding encoding;
    void (*waiting)(void *arg); /* called before a read that would block */
    void *waiting_arg;
    int stop_fd; /* when readable, the input ends here as if it were over; 0: none */
};

/* path "-" is standard input. Fails with BERT_IO. options may be NULL. */
enum bert_status source_open(struct source **source, const char *path,
                             const struct source_options *options,
                             struct bert_error *error);
/* bytes stay the caller's and must outlive the source. */
enum bert_status source_open_memory(struct source **source, const char *bytes,
                                    size_t size, const struct source_options *options,
                                    struct bert_error *error);
void source_close(struct source *source); /* NULL is fine */

/* Makes *window the bytes to come: at least want of them unless the input ends before. It
 * is valid until the next call. Fails with BERT_IO, or BERT_USAGE for UTF-16. */
enum bert_status source_window(struct source *source, size_t want, struct span *window,
                               struct bert_error *error);
void source_consume(struct source *source, size_t size); /* at most the window's size */

uint64_t source_taken(const struct source *source); /* bytes read so far, undecoded */
bool source_stopped(const struct source *source);   /* ended by stop_fd */
/* What was decided: ENCODING_AUTO as long as all was ASCII. */
enum encoding source_encoding(const struct source *source);

#endif
