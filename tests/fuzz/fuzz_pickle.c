/* SPDX-License-Identifier: MIT
 *
 * fuzz_pickle.c: the input is a pickle; then its containers are walked, two deep. */
#include "fuzz_file.h"

#include "model/pickle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct pickle pickle = {0};
    size_t used = 0;
    if (pickle_read(&pickle, data, size, &used, NULL) == BERT_OK) {
        struct pickle_walk walk = pickle_walk(&pickle, pickle.root);
        for (int i = 0; i < 1000 && pickle_next(&pickle, &walk); i++) {
            struct pickle_walk inner = pickle_walk(&pickle, walk.value);
            struct span text;
            pickle_text(&pickle, walk.key, &text);
            pickle_tensor(&pickle, walk.value);
            for (int j = 0; j < 1000 && pickle_next(&pickle, &inner); j++)
                pickle_kind(&pickle, inner.value);
        }
        if (used > size)
            abort();
    }
    pickle_release(&pickle);
    return 0;
}
