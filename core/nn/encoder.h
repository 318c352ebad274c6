/* SPDX-License-Identifier: MIT
 *
 * encoder.h: embeddings and layers over a packed batch. */
#ifndef NN_ENCODER_H
#define NN_ENCODER_H

#include "nn/pass.h"

/* Leaves the last layer's output of the requested rows, and of no others, in the first
 * count rows of the workspace's hidden zone. count is at least 1. */
void encoder_run(struct pass *pass, const struct batch *batch,
                 const struct request *requests, size_t count);

#endif
