/* SPDX-License-Identifier: MIT
 *
 * words.c: scores the words of a list in masks. A tally is the list in one mask: each
 * node's score is the log probability of its prefix, and asking a node gives its children
 * theirs. */
#include "mlm/words.h"

#include "mlm/answer.h"
#include "mlm/shares.h"

#include <math.h>

enum {
    ALL_AT_ONCE = 256,      /* longest list of proper prefixes that is not pruned */
    ROUND = 64,             /* prefixes of one tally in a round of best first */
    GROUP_CELLS = 1u << 21, /* nodes and words of the tallies that go on in step */
    MOST_CELLS = 1u << 24,  /* of one text's: half a gigabyte */
};
static const double negligible = 1e-4; /* of the sum: what may stay unexpanded */

struct tally {
    struct passage *passage;
    size_t mask;
    double *node, *word;   /* scores; NaN: not known */
    bool *asked;           /* (nodes) */
    struct reply *replies; /* (nodes), those asked in this round */
    uint32_t *round;       /* nodes asked in this round, rising */
    size_t round_count;
};

struct count { /* what all tallies share */
    struct mlm *mlm;
    const struct bert_words *words;
    bool prune;
    struct frame frame;
    size_t first; /* slot of the frame that is the first of the asked mask */
    struct tally *tallies;
    size_t tally_count;
};

/* ---- Setting up ------------------------------------------------------------------ */

/* Without pruning the first round sets them all. */
static double *unknown_scores(const struct count *count, size_t cells) {
    double *scores = arena_alloc(&count->mlm->scratch, cells * sizeof *scores);
    for (size_t i = 0; scores && count->prune && i < cells; i++)
        scores[i] = NAN;
    return scores;
}

static bool tally_new(struct count *count, struct tally *tally, struct passage *passage,
                      size_t mask) {
    const struct bert_words *words = count->words;
    struct arena *arena = &count->mlm->scratch;
    *tally = (struct tally){
        .passage = passage,
        .mask = mask,
        .node = unknown_scores(count, words->node_count),
        .word = unknown_scores(count, words->count),
        .asked = arena_array(arena, words->node_count, sizeof *tally->asked),
        .replies = arena_array(arena, words->node_count, sizeof *tally->replies),
        .round = arena_array(arena, words->node_count, sizeof *tally->round)};
    if (!tally->node || !tally->word || !tally->asked || !tally->replies || !tally->round)
        return false;
    for (size_t i = 0; i < words->group_count; i++)
        tally->node[words->groups[i].root] = 0;
    return true;
}

/* ---- Choosing what to ask -------------------------------------------------------- */

struct frontier {
    double score;
    uint32_t node;
};

static int compare_frontier(const void *left, const void *right) {
    const struct frontier *a = left, *b = right;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

static int compare_u32(const void *left, const void *right) {
    uint32_t a, b;
    memcpy(&a, left, sizeof a);
    memcpy(&b, right, sizeof b);
    return (a > b) - (a < b);
}

/* Best first: the likeliest known prefixes, while what hangs on them may still matter. */
static bool choose_best(struct count *count, struct tally *tally) {
    const struct bert_words *words = count->words;
    struct frontier *list =
        arena_alloc(&count->mlm->step, words->node_count * sizeof *list);
    if (!list)
        return false;
    size_t known = 0;
    double waiting = 0, scored = 0;
    for (uint32_t i = 0; i < words->node_count; i++)
        if (!tally->asked[i] && !isnan(tally->node[i])) {
            waiting += exp(tally->node[i]);
            list[known++] = (struct frontier){tally->node[i], i};
        }
    for (size_t i = 0; i < words->count; i++)
        if (!isnan(tally->word[i]))
            scored += exp(tally->word[i]);
    if (waiting < negligible * scored)
        return true;
    qsort(list, known, sizeof *list, compare_frontier);
    for (size_t i = 0; i < known && i < ROUND; i++)
        tally->round[tally->round_count++] = list[i].node;
    qsort(tally->round, tally->round_count, sizeof *tally->round, compare_u32);
    return true;
}

static bool choose(struct count *count, struct tally *tally, bool first) {
    const struct bert_words *words = count->words;
    tally->round_count = 0;
    if (tally->passage->error)
        return true;
    if (first && count->prune)
        for (size_t i = 0; i < words->group_count; i++)
            tally->round[tally->round_count++] = words->groups[i].root;
    else if (first)
        for (uint32_t i = 0; i < words->node_count; i++)
            tally->round[tally->round_count++] = i;
    else if (count->prune)
        return choose_best(count, tally);
    return true;
}

/* ---- Asking ---------------------------------------------------------------------- */

static bool reply_room(struct count *count, struct tally *tally, uint32_t node) {
    size_t listed = count->words->nodes[node].count;
    tally->replies[node] =
        (struct reply){.listed = arena_alloc(&count->mlm->step, listed * sizeof(float))};
    return tally->replies[node].listed != NULL;
}

/* Words of one token: all masks of a passage at once, as a plain filling asks them. */
static enum bert_status ask_singles(struct count *count, struct tally *tallies,
                                    struct bert_error *error) {
    const struct word_node *root = &count->words->nodes[0];
    struct passage *passage = tallies->passage;
    size_t masks = passage->masks.count;
    struct ask *asks = arena_array(&count->mlm->step, masks, sizeof *asks);
    if (!asks)
        return error_memory(error);
    for (size_t i = 0; i < masks; i++) {
        if (!reply_room(count, &tallies[i], 0))
            return error_memory(error);
        asks[i] = (struct ask){.listed = root->listed,
                               .listed_count = root->count,
                               .reply = &tallies[i].replies[0]};
    }
    return answer_ask(count->mlm, passage, &count->frame, asks, error);
}

static enum bert_status ask_node(struct count *count, struct tally *tally, uint32_t index,
                                 struct bert_error *error) {
    const struct word_node *node = &count->words->nodes[index];
    struct frame *frame = &count->frame;
    const size_t *slots = frame->slots + count->first;
    const struct word *word = &count->words->words[node->low];
    int32_t mask = tokenizer_special(count->mlm->tokenizer)->mask;
    if (!reply_room(count, tally, index))
        return error_memory(error);
    for (int s = 0; s < word->count; s++)
        frame->ids[slots[s]] = s < node->depth ? word->ids[s] : mask;
    struct ask ask = {.row = slots[node->depth],
                      .listed = node->listed,
                      .listed_count = node->count,
                      .reply = &tally->replies[index]};
    return packer_add(&count->mlm->packer, frame->ids, frame->count, &ask, 1, error);
}

/* The frame in which the tally's mask stands for a word of that length: one window for
 * all masks where they fit it, as for words of one token. */
static enum bert_status frame_word(struct count *count, const struct tally *tally,
                                   int length, struct bert_error *error) {
    struct mlm *mlm = count->mlm;
    struct passage *passage = tally->passage;
    const struct mask_list *masks = &passage->masks;
    int *widths = arena_alloc(&mlm->step, masks->count * sizeof *widths);
    if (!widths)
        return error_memory(error);
    for (size_t i = 0; i < masks->count; i++)
        widths[i] = i == tally->mask ? length : 1;
    count->first = tally->mask;
    if (!frame_around(&count->frame, mlm, passage, masks->places, masks->count, widths)) {
        count->first = 0;
        if (!frame_around(&count->frame, mlm, passage, &masks->places[tally->mask], 1,
                          &length))
            return error_set(error, BERT_MODEL, "the model has no room for a word");
    }
    answer_note_cut(passage, mlm, &count->frame);
    return BERT_OK;
}

static enum bert_status ask_longer(struct count *count, struct tally *tally,
                                   struct bert_error *error) {
    const struct bert_words *words = count->words;
    enum bert_status status = BERT_OK;
    size_t next = 0;
    for (size_t g = 0; g < words->group_count && status == BERT_OK; g++) {
        const struct word_group *group = &words->groups[g];
        bool framed = false;
        while (next < tally->round_count && tally->round[next] < group->end &&
               status == BERT_OK) {
            uint32_t node = tally->round[next++];
            if (group->length == 1) /* asked already */
                continue;
            if (!framed)
                status = frame_word(count, tally, group->length, error);
            framed = true;
            if (status == BERT_OK)
                status = ask_node(count, tally, node, error);
        }
    }
    return status;
}

/* ---- Reading --------------------------------------------------------------------- */

/* Parents come before children in a round, so that scores add up. */
static void read_tally(struct count *count, struct tally *tally) {
    const struct bert_words *words = count->words;
    for (size_t i = 0; i < tally->round_count; i++) {
        uint32_t index = tally->round[i];
        const struct word_node *node = &words->nodes[index];
        const struct reply *reply = &tally->replies[index];
        if (!reply->finite) {
            passage_fail(tally->passage, count->mlm, "%s", PASSAGE_NOT_FINITE);
            return;
        }
        bool leaf = node->depth + 1 == words->words[node->low].count;
        double *child = (leaf ? tally->word : tally->node) + node->first;
        for (uint32_t c = 0; c < node->count; c++)
            child[c] = tally->node[index] + (double)reply->listed[c];
        tally->asked[index] = true;
    }
}

/* All tallies to the end. */
static enum bert_status run(struct count *count, struct bert_error *error) {
    enum bert_status status = BERT_OK;
    bool singles = count->words->groups[0].length == 1;
    for (bool first = true, live = true; live && status == BERT_OK; first = false) {
        live = false;
        for (size_t i = 0; i < count->tally_count && status == BERT_OK; i++) {
            struct tally *tally = &count->tallies[i];
            if (!choose(count, tally, first))
                return error_memory(error);
            live = live || tally->round_count;
            if (first && singles && tally->mask == 0)
                status = ask_singles(count, tally, error);
            if (status == BERT_OK)
                status = ask_longer(count, tally, error);
        }
        if (status == BERT_OK)
            status = packer_flush(&count->mlm->packer, error);
        for (size_t i = 0; i < count->tally_count && status == BERT_OK; i++)
            read_tally(count, &count->tallies[i]);
        arena_reset(&count->mlm->step);
    }
    return status;
}

/* ---- Results --------------------------------------------------------------------- */

static bool write_candidate(struct count *count, const struct tally *tally,
                            const struct shares *shares, size_t index,
                            struct bert_candidate *candidate) {
    uint32_t at = shares->list[index].word;
    const struct word *word = &count->words->words[at];
    const struct mask_list *masks = &tally->passage->masks;
    candidate->ids = word->ids;
    candidate->id_count = word->count;
    candidate->share = shares_value(shares, index);
    candidate->label = word->label < 0 ? NULL : count->words->labels[word->label];
    return answer_candidate(candidate, count->mlm, tally->passage,
                            &masks->places[tally->mask], word->text, tally->word[at]);
}

static bool write_mask(struct count *count, const struct tally *tally,
                       const struct bert_fill_options *options, struct bert_mask *mask,
                       size_t *unscored) {
    struct mlm *mlm = count->mlm;
    const struct bert_words *words = count->words;
    size_t wanted = options->k ? (size_t)options->k : words->count;
    struct shares shares;
    if (!shares_of(&shares, &mlm->step, words, tally->word))
        return false;
    size_t room = wanted < shares.count ? wanted : shares.count;
    struct bert_candidate *candidates =
        arena_array(&mlm->results, room, sizeof *candidates);
    if (!candidates ||
        (words->label_count && !shares_labels(&shares, &mlm->results, words, mask)))
        return false;
    *unscored += words->count - shares.count;
    /* With a threshold those that count may stand further down. */
    shares_sort(&shares, options->threshold > 0 ? shares.count : wanted);
    mask->candidates = candidates;
    for (size_t i = 0; i < shares.count && mask->candidate_count < wanted; i++)
        if (exp(tally->word[shares.list[i].word]) >= options->threshold &&
            !write_candidate(count, tally, &shares, i,
                             &candidates[mask->candidate_count++]))
            return false;
    return true;
}

static bool write_result(struct count *count, const struct tally *tallies,
                         const struct bert_fill_options *options,
                         struct bert_result *result) {
    const struct passage *passage = tallies->passage;
    struct bert_mask *masks = answer_masks(count->mlm, passage);
    for (size_t i = 0; masks && i < passage->masks.count; i++) {
        if (!write_mask(count, &tallies[i], options, &masks[i], &result->unscored))
            return false;
        arena_reset(&count->mlm->step);
    }
    result->masks = masks;
    result->mask_count = passage->masks.count;
    return masks != NULL;
}

/* Tallies for a passage's masks. */
static enum bert_status add_passage(struct count *count, struct passage *passage,
                                    struct bert_error *error) {
    for (size_t m = 0; m < passage->masks.count; m++)
        if (!tally_new(count, &count->tallies[count->tally_count++], passage, m))
            return error_memory(error);
    return BERT_OK;
}

/* False, and the passage's error set, when its tallies would take too much memory. */
static bool tallies_fit(struct count *count, struct passage *passage, size_t cells) {
    size_t masks = passage->masks.count;
    if (masks <= 1 || masks <= MOST_CELLS / cells)
        return true;
    passage_fail(passage, count->mlm,
                 "%zu masks are too much for one record with a list of %zu words", masks,
                 count->words->count);
    return false;
}

/* As many passages as go on in step, from *next on. */
static enum bert_status add_group(struct count *count, struct passage *passages,
                                  size_t *next, size_t total, size_t answers,
                                  struct bert_error *error) {
    size_t cells = count->words->node_count + count->words->count, masks = 0, end = *next;
    count->tally_count = 0;
    arena_reset(&count->mlm->scratch);
    for (; end < total && masks * cells < GROUP_CELLS; end++)
        if (!passages[end].error &&
            answer_affordable(&passages[end], count->mlm, passages[end].masks.count,
                              answers) &&
            tallies_fit(count, &passages[end], cells))
            masks += passages[end].masks.count;
    count->tallies = arena_array(&count->mlm->scratch, masks, sizeof *count->tallies);
    if (!count->tallies || !frame_alloc(&count->frame, count->mlm, &count->mlm->scratch))
        return error_memory(error);
    enum bert_status status = BERT_OK;
    for (; *next < end && status == BERT_OK; ++*next)
        if (!passages[*next].error)
            status = add_passage(count, &passages[*next], error);
    return status;
}

enum bert_status words_fill(struct mlm *mlm, struct passage *passages, size_t total,
                            const struct bert_fill_options *options,
                            struct bert_result *results, struct bert_error *error) {
    const struct bert_words *words = options->words;
    struct count count = {.mlm = mlm, .words = words};
    size_t answers = options->k && (size_t)options->k < words->count ? (size_t)options->k
                                                                     : words->count;
    count.prune = !words->divided && words->node_count - words->group_count > ALL_AT_ONCE;
    enum bert_status status = BERT_OK;
    for (size_t next = 0; next < total && status == BERT_OK;) {
        size_t from = next;
        status = add_group(&count, passages, &next, total, answers, error);
        if (status == BERT_OK)
            status = run(&count, error);
        for (size_t i = from, at = 0; i < next && status == BERT_OK; i++) {
            if (at == count.tally_count || count.tallies[at].passage != &passages[i])
                continue;
            if (!passages[i].error &&
                !write_result(&count, &count.tallies[at], options, &results[i]))
                status = error_memory(error);
            at += passages[i].masks.count;
        }
    }
    return status;
}

enum bert_status words_baseline(struct bert_words *words, struct mlm *mlm,
                                struct span text, struct bert_error *error) {
    struct bert_text bert_text = {.bytes = text.data, .length = text.size};
    struct passage passage;
    enum bert_status status = passage_read(&passage, mlm, &bert_text, NULL, error);
    if (status == BERT_OK && !passage.error && passage.masks.count != 1)
        passage_fail(&passage, mlm, "%zu masks in the text, which must have one",
                     passage.masks.count);
    struct count count = {.mlm = mlm, .words = words};
    size_t next = 0;
    if (status == BERT_OK && !passage.error)
        status = add_group(&count, &passage, &next, 1, 1, error);
    if (status == BERT_OK && !passage.error)
        status = run(&count, error);
    if (status != BERT_OK)
        return status;
    if (passage.error)
        return error_set(error, BERT_USAGE, "baseline: %s", passage.error);
    for (size_t i = 0; i < words->count; i++)
        words->words[i].baseline = count.tallies[0].word[i];
    words->divided = true;
    return BERT_OK;
}
