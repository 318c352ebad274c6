/* SPDX-License-Identifier: MIT
 *
 * tfcheckpoint.h: reads a TensorFlow checkpoint of version 2: PREFIX.index, a table of the
 * LevelDB format whose values are BundleEntryProto messages, and PREFIX.data-N-of-M. */
#ifndef MODEL_TFCHECKPOINT_H
#define MODEL_TFCHECKPOINT_H

#include "model/checkpoint.h"

/* Whether path is a prefix, its index or one of its data files. */
bool tfcheckpoint_is(const char *path);
enum bert_status tfcheckpoint_read(struct checkpoint *checkpoint, const char *path,
                                   struct bert_error *error);

#endif
