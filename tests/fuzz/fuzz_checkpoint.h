/* SPDX-License-Identifier: MIT
 *
 * fuzz_checkpoint.h: reads whatever a reader let through, so that a place outside the
 * file shows. */
#ifndef TESTS_FUZZ_CHECKPOINT_H
#define TESTS_FUZZ_CHECKPOINT_H

#include "model/checkpoint.h"

static inline void touch_tensors(const struct checkpoint *checkpoint) {
    volatile unsigned char sink = 0;
    for (size_t i = 0; i < checkpoint->count; i++) {
        const struct tensor *tensor = &checkpoint->tensors[i];
        size_t extent;
        if (!tensor_extent(tensor, &extent) || extent == 0)
            continue;
        sink ^= tensor->data[0] ^ tensor->data[extent - 1];
        size_t columns = tensor_columns(tensor), rows = tensor_rows(tensor);
        if (!tensor_is_float(tensor) || columns == 0 || rows == 0 || columns > 4096)
            continue;
        float row[4096];
        tensor_row(tensor, 0, row);
        tensor_row(tensor, rows - 1, row);
    }
    (void)sink;
}

#endif
