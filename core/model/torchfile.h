/* SPDX-License-Identifier: MIT
 *
 * torchfile.h: reads what torch.save wrote: the zip of PyTorch 1.6 and later, and the
 * pickles with storages behind them of earlier ones. */
#ifndef MODEL_TORCHFILE_H
#define MODEL_TORCHFILE_H

#include "model/checkpoint.h"

/* By the first bytes of a file. */
bool torchfile_is_zip(const unsigned char *head, size_t size);
bool torchfile_is_legacy(const unsigned char *head, size_t size);

enum bert_status torchfile_read_zip(struct checkpoint *checkpoint, const char *path,
                                    struct bert_error *error);
enum bert_status torchfile_read_legacy(struct checkpoint *checkpoint, const char *path,
                                       struct bert_error *error);

#endif
