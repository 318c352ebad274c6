/* SPDX-License-Identifier: MIT
 *
 * entries.h: what kinds of entries a vocabulary has, as bit maps by id. */
#ifndef TEXT_ENTRIES_H
#define TEXT_ENTRIES_H

#include "text/tokenizer.h"
#include "text/vocab.h"

/* Allocates and fills one map a class; the caller frees them. false: no memory; what was
 * allocated is set. */
bool entries_classify(uint64_t *classes[ENTRY_CLASSES], const struct vocab *vocab,
                      const struct special_ids *special);

#endif
