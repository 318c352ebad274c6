/* SPDX-License-Identifier: MIT
 *
 * shares.c: from log probabilities to shares, and the best of them. */
#include "mlm/shares.h"

#include <math.h>

static int compare_shares(const void *left, const void *right) {
    const struct share *a = left, *b = right;
    if (a->log_share != b->log_share)
        return a->log_share > b->log_share ? -1 : 1;
    return (a->word > b->word) - (a->word < b->word);
}

static int compare_labels(const void *left, const void *right) {
    const struct bert_label *a = left, *b = right;
    return (a->share < b->share) - (a->share > b->share);
}

bool shares_labels(struct arena *arena, const struct bert_words *words,
                   const struct share *list, size_t count, struct bert_mask *mask) {
    struct bert_label *labels = arena_array(arena, words->label_count, sizeof *labels);
    if (!labels)
        return false;
    for (size_t i = 0; i < words->label_count; i++)
        labels[i].label = words->labels[i];
    for (size_t i = 0; i < count; i++)
        if (words->words[list[i].word].label >= 0)
            labels[words->words[list[i].word].label].share += exp(list[i].log_share);
    /* Few labels; insertion keeps equal ones in the order of the list. */
    for (size_t i = 1; i < words->label_count; i++)
        for (size_t j = i; j > 0 && compare_labels(&labels[j - 1], &labels[j]) > 0; j--) {
            struct bert_label label = labels[j];
            labels[j] = labels[j - 1];
            labels[j - 1] = label;
        }
    mask->labels = labels;
    mask->label_count = words->label_count;
    return true;
}

struct share *shares_of(struct arena *arena, const struct bert_words *words,
                        const double *scores, size_t *count) {
    struct share *list = arena_alloc(arena, words->count * sizeof *list);
    double greatest = -INFINITY, sum = 0;
    *count = 0;
    for (uint32_t i = 0; list && i < words->count; i++)
        if (!isnan(scores[i])) {
            double log_share = scores[i] - words->words[i].baseline;
            list[(*count)++] = (struct share){log_share, i};
            greatest = log_share > greatest ? log_share : greatest;
        }
    for (size_t i = 0; i < *count; i++)
        sum += exp(list[i].log_share - greatest);
    double log_sum = greatest + log(sum);
    for (size_t i = 0; i < *count; i++)
        list[i].log_share -= log_sum;
    return list;
}

/* A short list out of a long one is picked by insertion, which costs little more than
 * looking at each word. */
void shares_sort(struct share *list, size_t count, size_t wanted) {
    enum { PICKED = 64 };
    if (wanted > PICKED || wanted >= count) {
        qsort(list, count, sizeof *list, compare_shares);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        struct share one = list[i];
        size_t at = i < wanted ? i : wanted;
        if (at == wanted && compare_shares(&list[wanted - 1], &one) < 0)
            continue;
        if (at == wanted) /* the worst of the front changes places */
            list[i] = list[--at];
        for (; at > 0 && compare_shares(&one, &list[at - 1]) < 0; at--)
            list[at] = list[at - 1];
        list[at] = one;
    }
}
