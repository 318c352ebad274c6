/* SPDX-License-Identifier: MIT
 *
 * backend_check.c: what every backend asks before a forward pass. */
#include "nn/backend.h"

const char *backend_defect(const struct model_config *config, size_t rows,
                           const struct batch *batch, const struct request *requests,
                           size_t count) {
    if (batch->rows > rows || batch->sequences > batch->rows)
        return "the batch is too large";
    if (batch->start[0] != 0 || batch->start[batch->sequences] != batch->rows)
        return "the batch does not add up";
    for (size_t s = 0; s < batch->sequences; s++)
        if (batch->start[s + 1] <= batch->start[s] ||
            batch->start[s + 1] - batch->start[s] > (size_t)config->positions)
            return "a sequence is empty or too long";
    for (size_t row = 0; row < batch->rows; row++)
        if (batch->ids[row] < 0 || batch->ids[row] >= config->vocabulary)
            return "an id is not in the vocabulary";
    for (size_t i = 0; i < count; i++) {
        if (requests[i].row >= batch->rows || requests[i].k < 0 ||
            (i > 0 && requests[i].row <= requests[i - 1].row))
            return "a request is out of order";
        for (size_t j = 0; j < requests[i].listed_count; j++)
            if (requests[i].listed[j] < 0 || requests[i].listed[j] >= config->vocabulary)
                return "a listed id is not in the vocabulary";
    }
    return NULL;
}
