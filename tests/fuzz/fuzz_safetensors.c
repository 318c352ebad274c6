/* SPDX-License-Identifier: MIT
 *
 * fuzz_safetensors.c: the whole input is a file. */
#include "fuzz_checkpoint.h"
#include "fuzz_file.h"

#include "model/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct checkpoint checkpoint = {.path = "fuzz"};
    struct safetensors_header header;
    arena_init(&checkpoint.arena);
    if (safetensors_header(&header, data, size, "fuzz", NULL) == BERT_OK) {
        if (safetensors_add(&checkpoint, &header, data, size, "fuzz", NULL) == BERT_OK &&
            checkpoint_index(&checkpoint, NULL) == BERT_OK)
            touch_tensors(&checkpoint);
        json_free(header.json);
    }
    checkpoint_close(&checkpoint);
    return 0;
}
