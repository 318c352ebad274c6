/* SPDX-License-Identifier: MIT
 *
 * tfcheckpoint.h: reads a TensorFlow checkpoint of version 2: PREFIX.index, a table of
 * the LevelDB format whose values are BundleEntryProto messages, and PREFIX.data-N-of-M.
 */
#ifndef MODEL_TFCHECKPOINT_H
#define MODEL_TFCHECKPOINT_H

#include "model/checkpoint.h"

/* Whether path is a prefix, its index or one of its data files. */
bool tfcheckpoint_is(const char *path);
enum bert_status tfcheckpoint_read(struct checkpoint *checkpoint, const char *path,
                                   struct bert_error *error);

/* The same from memory: the bytes of the index and of count data files, which must
 * outlive the checkpoint. *count is how many the index demands when it was 0, and nothing
 * is read then. name is for messages. */
enum bert_status tfcheckpoint_parse(struct checkpoint *checkpoint, struct span index,
                                    const struct span *shards, uint64_t *count,
                                    const char *name, struct bert_error *error);

#endif
