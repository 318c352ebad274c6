/* SPDX-License-Identifier: MIT
 *
 * beam.c: searches over whole fillings. Every combination of lengths is a search of its
 * own; all searches of a group of passages go on in step, so that their expansions share
 * packed batches. */
#include "mlm/beam.h"

#include "mlm/answer.h"
#include "mlm/filter.h"
#include "mlm/paths.h"
#include "mlm/splice.h"

#include <math.h>

enum {
    DEFAULT_K = 5,
    EXPANSIONS = 256,      /* first tokens of two slots */
    FIRST_ROUND = 16,      /* expansions of the first round; each further one doubles */
    GROUP_SEARCHES = 256,  /* searches in step */
    STEP_BYTES = 32 << 20, /* replies that wait to be read */
};

struct search {
    struct passage *passage;
    const int *widths; /* slots of each mask */
    struct frame frame;
    size_t depth;            /* slots that the paths in open have filled */
    struct paths open, best; /* best: whole fillings */
    size_t next, round;      /* two slots: expanded so far, size of the next round */
    bool done, exact;
    size_t begin, end; /* paths of open that were asked */
    struct reply *replies;
};

struct beam { /* what all searches share */
    struct mlm *mlm;
    const struct bert_fill_options *options;
    const uint64_t *allowed;
    int k, width; /* answers wanted; paths kept between steps */
    struct search *searches;
    size_t count;
};

/* ---- Setting searches up --------------------------------------------------------- */

static bool frame_keep(struct frame *frame, const struct frame *from,
                       struct arena *arena) {
    *frame = *from;
    frame->ids = arena_array(arena, from->count, sizeof *frame->ids);
    frame->slots = arena_array(arena, from->slot_count, sizeof *frame->slots);
    if (!frame->ids || !frame->slots)
        return false;
    memcpy(frame->ids, from->ids, from->count * sizeof *frame->ids);
    memcpy(frame->slots, from->slots, from->slot_count * sizeof *frame->slots);
    return true;
}

static bool search_new(struct beam *beam, struct search *search, struct passage *passage,
                       const int *widths, struct frame *room) {
    struct mlm *mlm = beam->mlm;
    *search = (struct search){.passage = passage, .widths = widths, .round = FIRST_ROUND};
    if (!frame_around(room, mlm, passage, passage->masks.places, passage->masks.count,
                      widths) ||
        room->cut) {
        size_t total = passage->tokens.count - passage->masks.count;
        for (size_t i = 0; i < passage->masks.count; i++)
            total += (size_t)widths[i];
        passage_fail(passage, mlm,
                     "%zu tokens with the masks filled, more than the %zu "
                     "that whole fillings can have",
                     total, mlm->positions - 2);
        return true;
    }
    answer_note_cut(passage, mlm, room);
    int32_t *root = arena_alloc(&mlm->scratch, sizeof *root);
    size_t open = room->slot_count == 2 ? EXPANSIONS : (size_t)beam->width;
    if (!root || !frame_keep(&search->frame, room, &mlm->scratch) ||
        !paths_new(&search->open, &mlm->scratch, open) ||
        !paths_new(&search->best, &mlm->scratch, (size_t)beam->k))
        return false;
    search->open.list[search->open.count++] = (struct path){0, root};
    return true;
}

/* Lengths of all masks, counted up like the digits of a number; 0 when too many. */
static size_t combinations(const struct bert_fill_options *options, size_t masks) {
    size_t count = 1, choices = 1;
    if (options->span_max)
        choices = (size_t)(options->span_max - options->span_min) + 1;
    for (size_t i = 0; choices > 1 && i < masks; i++)
        if ((count *= choices) > BEAM_COMBINATIONS)
            return 0;
    return count;
}

static bool widths_of(const struct bert_fill_options *options, size_t index, size_t masks,
                      struct arena *arena, const int **widths) {
    int *list = arena_array(arena, masks, sizeof *list);
    size_t least = options->span_max ? (size_t)options->span_min : 1;
    size_t choices = options->span_max ? (size_t)options->span_max - least + 1 : 1;
    for (size_t i = masks; list && i-- > 0; index /= choices)
        list[i] = (int)(least + index % choices);
    *widths = list;
    return list != NULL;
}

static enum bert_status add_passage(struct beam *beam, struct passage *passage,
                                    struct frame *room, struct bert_error *error) {
    size_t masks = passage->masks.count, count = combinations(beam->options, masks);
    if (count == 0)
        passage_fail(passage, beam->mlm,
                     "%zu masks with spans of %d to %d characters are "
                     "more than %d combinations of lengths",
                     masks, beam->options->span_min, beam->options->span_max,
                     BEAM_COMBINATIONS);
    for (size_t i = 0; i < count && !passage->error; i++) {
        const int *widths;
        if (!widths_of(beam->options, i, masks, &beam->mlm->scratch, &widths) ||
            !search_new(beam, &beam->searches[beam->count++], passage, widths, room))
            return error_memory(error);
    }
    return BERT_OK;
}

/* ---- One step -------------------------------------------------------------------- */

/* Answers wanted after the next slot is filled. */
static int answers_wanted(const struct beam *beam, const struct search *search) {
    if (search->depth + 1 == search->frame.slot_count)
        return beam->k;
    return (int)search->open.limit;
}

static enum bert_status ask_paths(struct beam *beam, struct search *search,
                                  struct bert_error *error) {
    struct mlm *mlm = beam->mlm;
    const struct frame *frame = &search->frame;
    int wanted = answers_wanted(beam, search);
    if (wanted > tokenizer_size(mlm->tokenizer))
        wanted = tokenizer_size(mlm->tokenizer);
    search->begin = search->next;
    search->end = search->open.count;
    if (search->depth == 1 && frame->slot_count == 2 &&
        search->end > search->begin + search->round)
        search->end = search->begin + search->round;
    size_t count = search->end - search->begin;
    search->replies = arena_array(&mlm->step, count, sizeof *search->replies);
    int32_t *ids = arena_alloc(&mlm->step, frame->count * sizeof *ids);
    if (!search->replies || !ids)
        return error_memory(error);
    memcpy(ids, frame->ids, frame->count * sizeof *ids);
    enum bert_status status = BERT_OK;
    for (size_t i = 0; i < count && status == BERT_OK; i++) {
        struct reply *reply = &search->replies[i];
        reply->best = arena_alloc(&mlm->step, (size_t)wanted * sizeof *reply->best);
        if (!reply->best)
            return error_memory(error);
        for (size_t s = 0; s < search->depth; s++)
            ids[frame->slots[s]] = search->open.list[search->begin + i].ids[s];
        struct ask ask = {.row = frame->slots[search->depth],
                          .k = wanted,
                          .allowed = beam->allowed,
                          .reply = reply};
        status = packer_add(&mlm->packer, ids, frame->count, &ask, 1, error);
    }
    return status;
}

/* Two slots: whether no further first token can matter. */
static void close_bound(struct search *search) {
    const struct paths *open = &search->open, *best = &search->best;
    bool full = best->count == best->limit;
    double least = full ? best->list[best->count - 1].score : -INFINITY;
    search->next = search->end;
    search->round *= 2;
    if (search->next < open->count) {
        search->done = search->exact = open->list[search->next].score < least;
        return;
    }
    search->done = true;
    search->exact =
        open->count < open->limit || open->list[open->count - 1].score < least;
}

static bool read_paths(struct beam *beam, struct search *search) {
    struct mlm *mlm = beam->mlm;
    bool last = search->depth + 1 == search->frame.slot_count;
    struct paths fresh, *into = &search->best;
    if (!last) {
        if (!paths_new(&fresh, &mlm->scratch, search->open.limit))
            return false;
        into = &fresh;
    }
    for (size_t i = search->begin; i < search->end; i++) {
        const struct reply *reply = &search->replies[i - search->begin];
        const struct path *path = &search->open.list[i];
        if (!reply->finite) {
            passage_fail(search->passage, mlm, "%s", PASSAGE_NOT_FINITE);
            return true;
        }
        for (int j = 0; j < reply->best_count; j++)
            if (!paths_offer(into, &mlm->scratch,
                             path->score + (double)reply->best[j].log_probability,
                             path->ids, search->depth, reply->best[j].id))
                return false;
    }
    if (last && search->frame.slot_count == 2) {
        close_bound(search);
    } else if (last) {
        search->done = true;
        search->exact = search->frame.slot_count == 1;
    } else {
        search->open = fresh;
        search->depth++;
    }
    return true;
}

static enum bert_status read_group(struct beam *beam, size_t begin, size_t end,
                                   struct bert_error *error) {
    enum bert_status status = packer_flush(&beam->mlm->packer, error);
    for (size_t i = begin; i < end && status == BERT_OK; i++) {
        struct search *search = &beam->searches[i];
        if (search->passage->error)
            search->done = true;
        if (!search->done && !read_paths(beam, search))
            status = error_memory(error);
    }
    arena_reset(&beam->mlm->step);
    return status;
}

/* Every search takes a step; replies are read when enough of them wait. */
static enum bert_status step(struct beam *beam, bool *live, struct bert_error *error) {
    enum bert_status status = BERT_OK;
    size_t waiting = 0, begin = 0;
    *live = false;
    for (size_t i = 0; i < beam->count && status == BERT_OK; i++) {
        struct search *search = &beam->searches[i];
        search->done = search->done || search->passage->error;
        if (search->done)
            continue;
        *live = true;
        status = ask_paths(beam, search, error);
        waiting += (search->end - search->begin) * sizeof(struct scored) *
                   (size_t)answers_wanted(beam, search);
        if (status == BERT_OK && waiting > STEP_BYTES) {
            status = read_group(beam, begin, i + 1, error);
            begin = i + 1;
            waiting = 0;
        }
    }
    return status == BERT_OK ? read_group(beam, begin, beam->count, error) : status;
}

/* ---- Results --------------------------------------------------------------------- */

struct found {
    const struct search *search;
    const struct path *path;
    double rank;
};

static int compare_found(const void *left, const void *right) {
    const struct found *a = left, *b = right;
    size_t a_count = a->search->frame.slot_count, b_count = b->search->frame.slot_count;
    if (a->rank != b->rank)
        return a->rank > b->rank ? -1 : 1;
    int order =
        paths_compare(a->path->ids, b->path->ids, a_count < b_count ? a_count : b_count);
    return order ? order : (a_count > b_count) - (a_count < b_count);
}

/* The tokens of one mask as one word; a single one keeps its ##. */
static const char *join(struct mlm *mlm, const int32_t *ids, int count) {
    const char *entry = tokenizer_entry(mlm->tokenizer, ids[0]);
    if (count == 1)
        return entry;
    struct patch patches[BEAM_SPAN];
    size_t length;
    for (int i = 0; i < count; i++)
        patches[i].start = patches[i].end = 0,
        patches[i].word = splice_word(tokenizer_entry(mlm->tokenizer, ids[i]));
    return splice_text(&mlm->results, (struct span){"", 0}, patches, (size_t)count,
                       &length);
}

static bool write_filling(struct mlm *mlm, const struct found *found,
                          struct bert_filling *filling) {
    const struct search *search = found->search;
    const struct passage *passage = search->passage;
    size_t masks = passage->masks.count, slots = search->frame.slot_count;
    const char **words = arena_array(&mlm->results, masks, sizeof(char *));
    const int32_t **ids = arena_array(&mlm->results, masks, sizeof(int32_t *));
    int *counts = arena_array(&mlm->results, masks, sizeof *counts);
    int32_t *flat = arena_array(&mlm->results, slots, sizeof *flat);
    struct patch *patches = arena_array(&mlm->scratch, masks, sizeof *patches);
    if (!words || !ids || !counts || !flat || !patches)
        return false;
    memcpy(flat, found->path->ids, slots * sizeof *flat);
    for (size_t i = 0; i < masks; i++) {
        ids[i] = flat;
        counts[i] = search->widths[i];
        flat += counts[i];
        if (!(words[i] = join(mlm, ids[i], counts[i])))
            return false;
        patches[i] = (struct patch){passage->masks.places[i].start,
                                    passage->masks.places[i].end, splice_word(words[i])};
    }
    *filling =
        (struct bert_filling){.word_count = masks,
                              .words = words,
                              .ids = ids,
                              .id_counts = counts,
                              .probability = exp(found->path->score),
                              .mean_log_probability = found->path->score / (double)slots};
    filling->text =
        splice_text(&mlm->results, passage->text, patches, masks, &filling->text_length);
    return filling->text != NULL;
}

static bool write_result(struct beam *beam, const struct search *searches, size_t count,
                         struct bert_result *result) {
    struct mlm *mlm = beam->mlm;
    size_t total = 0, kept = 0;
    for (size_t i = 0; i < count; i++)
        total += searches[i].best.count;
    struct found *found = arena_array(&mlm->scratch, total, sizeof *found);
    struct bert_filling *fillings =
        arena_array(&mlm->results, (size_t)beam->k, sizeof *fillings);
    if (!found || !fillings)
        return false;
    result->exact = true;
    for (size_t i = 0, n = 0; i < count; i++) {
        result->exact = result->exact && searches[i].exact;
        for (size_t j = 0; j < searches[i].best.count; j++) {
            const struct path *path = &searches[i].best.list[j];
            double slots = (double)searches[i].frame.slot_count;
            found[n++] = (struct found){&searches[i], path,
                                        beam->options->rank_total ? path->score
                                                                  : path->score / slots};
        }
    }
    if (total)
        qsort(found, total, sizeof *found, compare_found);
    for (size_t i = 0; i < total && kept < (size_t)beam->k; i++)
        if (exp(found[i].path->score) >= beam->options->threshold &&
            !write_filling(mlm, &found[i], &fillings[kept++]))
            return false;
    result->fillings = fillings;
    result->filling_count = kept;
    return true;
}

/* All searches of a group of passages, to the end. */
static enum bert_status run_group(struct beam *beam, const struct passage *passages,
                                  size_t count, struct bert_result *results,
                                  struct bert_error *error) {
    enum bert_status status = BERT_OK;
    for (bool live = true; live && status == BERT_OK;)
        status = step(beam, &live, error);
    for (size_t i = 0, at = 0; i < count && status == BERT_OK; i++) {
        size_t end = at;
        while (end < beam->count && beam->searches[end].passage == &passages[i])
            end++;
        if (!passages[i].error &&
            !write_result(beam, beam->searches + at, end - at, &results[i]))
            status = error_memory(error);
        at = end;
    }
    return status;
}

enum bert_status beam_fill(struct mlm *mlm, struct passage *passages, size_t count,
                           const struct bert_fill_options *options, unsigned filters,
                           struct bert_result *results, struct bert_error *error) {
    struct beam beam = {.mlm = mlm, .options = options};
    beam.k = options->k ? options->k : DEFAULT_K;
    beam.width = 2 * beam.k > 16 ? 2 * beam.k : 16;
    enum bert_status status = BERT_OK;
    for (size_t begin = 0, end; begin < count && status == BERT_OK; begin = end) {
        struct frame room;
        arena_reset(&mlm->scratch);
        beam.count = 0;
        beam.searches = arena_array(&mlm->scratch, GROUP_SEARCHES + BEAM_COMBINATIONS,
                                    sizeof *beam.searches);
        if (!beam.searches || !frame_alloc(&room, mlm, &mlm->scratch) ||
            !filter_build(mlm->tokenizer, mlm->rows, filters, &mlm->scratch,
                          &beam.allowed))
            return error_memory(error);
        for (end = begin; end < count && beam.count < GROUP_SEARCHES; end++) {
            struct passage *passage = &passages[end];
            if (!passage->error && answer_affordable(passage, mlm, 1, (size_t)beam.k))
                status = add_passage(&beam, passage, &room, error);
            if (status != BERT_OK)
                return status;
        }
        status = run_group(&beam, passages + begin, end - begin, results + begin, error);
    }
    return status;
}
