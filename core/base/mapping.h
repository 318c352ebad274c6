/* SPDX-License-Identifier: MIT
 *
 * mapping.h: a whole file as bytes, mapped read-only (shared pages) or read. */
#ifndef BASE_MAPPING_H
#define BASE_MAPPING_H

#include "base/status.h"

struct mapping {
    const unsigned char *data;
    size_t size;
    bool mapped; /* else malloc'ed */
};

/* BERT_MODEL when there is no such file or it is a folder, BERT_IO on failure. */
enum bert_status mapping_open(struct mapping *mapping, const char *path, bool no_mmap,
                              struct bert_error *error);
void mapping_close(struct mapping *mapping);

/* A mapped file that shrinks raises SIGBUS on access. After this call such a fault inside
 * a live mapping prints one line on stderr and ends the process with exit status 3; other
 * faults keep their default action. Programs call it once; the library never does. */
void mapping_guard(const char *program);

#endif
