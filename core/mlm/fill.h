/* SPDX-License-Identifier: MIT
 *
 * fill.h: answers the masks of texts, as bert_fill promises. */
#ifndef MLM_FILL_H
#define MLM_FILL_H

#include "mlm/passage.h"

/* bert.h describes options and results, which live in mlm->results. */
enum bert_status fill_texts(struct mlm *mlm, const struct bert_text *texts, size_t count,
                            const struct bert_fill_options *options,
                            struct bert_result *results, struct bert_error *error);

#endif
