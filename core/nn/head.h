/* SPDX-License-Identifier: MIT
 *
 * head.h: the masked-LM head over the requested rows, and the answers. */
#ifndef NN_HEAD_H
#define NN_HEAD_H

#include "nn/pass.h"

/* Reads the first count rows of the hidden zone, as encoder_run leaves them. */
void head_run(struct pass *pass, const struct request *requests, size_t count,
              struct reply *replies);

#endif
