/* SPDX-License-Identifier: MIT
 *
 * fuzz_torch_legacy.c: the whole input is a file that torch.save might have written. */
#include "fuzz_checkpoint.h"
#include "fuzz_file.h"

#include "model/torchfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct checkpoint checkpoint = {.no_mmap = true};
    arena_init(&checkpoint.arena);
    if (torchfile_read_legacy(&checkpoint, fuzz_file(data, size), NULL) == BERT_OK)
        touch_tensors(&checkpoint);
    checkpoint_close(&checkpoint);
    return 0;
}
