/* SPDX-License-Identifier: MIT
 *
 * shares.c: from log probabilities to shares, and the best of them. */
#include "mlm/shares.h"

#include <math.h>

static int compare_shares(const void *left, const void *right) {
    const struct share *a = left, *b = right;
    if (a->log != b->log)
        return a->log > b->log ? -1 : 1;
    return (a->word > b->word) - (a->word < b->word);
}

static int compare_labels(const void *left, const void *right) {
    const struct bert_label *a = left, *b = right;
    return (a->share < b->share) - (a->share > b->share);
}

double shares_value(const struct shares *shares, size_t index) {
    return exp(shares->list[index].log - shares->log_sum);
}

bool shares_labels(const struct shares *shares, struct arena *arena,
                   const struct bert_words *words, struct bert_mask *mask) {
    struct bert_label *labels = arena_array(arena, words->label_count, sizeof *labels);
    if (!labels)
        return false;
    for (size_t i = 0; i < words->label_count; i++)
        labels[i].label = words->labels[i];
    for (size_t i = 0; i < shares->count; i++) {
        int label = words->words[shares->list[i].word].label;
        if (label >= 0)
            labels[label].share += shares_value(shares, i);
    }
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

/* The sum takes float exponentials, whose error of 1e-7 is below that of the scores: a
 * list of thousands must not cost more than the model's own soft-max. */
bool shares_of(struct shares *shares, struct arena *arena, const struct bert_words *words,
               const double *scores) {
    double greatest = -INFINITY, sum = 0;
    *shares = (struct shares){arena_alloc(arena, words->count * sizeof(struct share)), 0};
    if (!shares->list)
        return false;
    for (uint32_t i = 0; i < words->count; i++)
        if (!isnan(scores[i])) {
            double log = scores[i] - (words->divided ? words->words[i].baseline : 0);
            shares->list[shares->count++] = (struct share){log, i};
            greatest = log > greatest ? log : greatest;
        }
    for (size_t i = 0; i < shares->count; i++)
        sum += (double)expf((float)(shares->list[i].log - greatest));
    shares->log_sum = greatest + log(sum);
    return true;
}

/* A short list out of a long one is picked by insertion, which costs little more than
 * looking at each word. */
void shares_sort(struct shares *shares, size_t wanted) {
    enum { PICKED = 64 };
    struct share *list = shares->list;
    if (wanted > PICKED || wanted >= shares->count) {
        qsort(list, shares->count, sizeof *list, compare_shares);
        return;
    }
    for (size_t i = 0; i < shares->count; i++) {
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
