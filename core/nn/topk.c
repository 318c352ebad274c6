/* SPDX-License-Identifier: MIT
 *
 * topk.c: a heap with the worst of the best at its root. Blocks whose maximum does not
 * beat the root are passed over, so with few answers nearly all of the vocabulary costs
 * one vector comparison. Ids come in rising order, so an equal score never displaces. */
#include "nn/topk.h"

#include <stdbool.h>

enum { BLOCK = 64 }; /* a word of the bit map */

static bool worse(struct scored a, struct scored b) {
    return a.log_probability < b.log_probability ||
           (a.log_probability == b.log_probability && a.id > b.id);
}

/* Puts item into the heap of count, whose root is free, and restores the order. */
static void sift_down(struct scored *heap, int count, struct scored item) {
    int at = 0;
    for (;;) {
        int child = 2 * at + 1;
        if (child >= count)
            break;
        if (child + 1 < count && worse(heap[child + 1], heap[child]))
            child++;
        if (!worse(heap[child], item))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = item;
}

static void sift_up(struct scored *heap, int at, struct scored item) {
    while (at > 0 && worse(item, heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = item;
}

int topk_select(const struct kernel_table *table, const float *scores, size_t n,
                const uint64_t *allowed, int k, struct scored *best) {
    int count = 0;
    for (size_t begin = 0; begin < n && k > 0; begin += BLOCK) {
        size_t size = n - begin < BLOCK ? n - begin : BLOCK;
        uint64_t word = allowed == NULL ? UINT64_MAX : allowed[begin / BLOCK];
        if (word == 0 || (count == k && table->maximum(scores + begin, size) <=
                                            best[0].log_probability))
            continue;
        for (size_t i = 0; i < size; i++) {
            struct scored item = {(int32_t)(begin + i), scores[begin + i]};
            if ((word >> i & 1) == 0)
                continue;
            if (count < k)
                sift_up(best, count++, item);
            else if (worse(best[0], item))
                sift_down(best, k, item);
        }
    }
    for (int i = count - 1; i > 0; i--) { /* the worst goes last */
        struct scored worst = best[0];
        sift_down(best, i, best[i]);
        best[i] = worst;
    }
    return count;
}
