/* SPDX-License-Identifier: MIT
 *
 * score.c: masks every token of a text once, all in packed batches, and reads off what
 * the model makes of it. */
#include "mlm/score.h"

#include "mlm/filter.h"
#include "mlm/splice.h"

#include <math.h>

enum {
    DEFAULT_K = 3,
    CORRECTIONS = 5,
    GROUP_TOKENS = 1 << 16, /* tokens of the texts that are scored together */
};

struct sheet { /* a text and what was asked of it */
    struct passage passage;
    struct reply *replies; /* (tokens); listed NULL: not scored */
};

struct scoring {
    struct mlm *mlm;
    const struct bert_score_options *options;
    double gain;
    int k;                  /* better characters */
    const uint64_t *better; /* Han characters: what may be a suspect or better than one */
    const uint64_t *special;
    struct frame frame;
};

/* ---- One pass over a text -------------------------------------------------------- */

static bool scored(const struct scoring *scoring, int32_t id) {
    return !filter_has(scoring->special, id); /* the unknown token is one of them */
}

static bool may_be_suspect(const struct scoring *scoring, int32_t id) {
    return scoring->options->suspects && filter_has(scoring->better, id);
}

static enum bert_status ask_token(struct scoring *scoring, struct sheet *sheet,
                                  size_t index, struct bert_error *error) {
    struct mlm *mlm = scoring->mlm;
    struct passage *passage = &sheet->passage;
    const int32_t *id = &passage->tokens.ids[index];
    struct reply *reply = &sheet->replies[index];
    struct mask_place place = {.token = index};
    int k = may_be_suspect(scoring, *id) ? scoring->k + 1 : 0;
    reply->listed = arena_alloc(&mlm->scratch, sizeof *reply->listed);
    reply->best = arena_alloc(&mlm->scratch, (size_t)k * sizeof *reply->best);
    if (!reply->listed || !reply->best)
        return error_memory(error);
    if (!frame_around(&scoring->frame, mlm, passage, &place, 1, NULL))
        return error_set(error, BERT_MODEL, "the model has no room for a text");
    struct ask ask = {.row = scoring->frame.slots[0],
                      .k = k,
                      .allowed = scoring->better,
                      .listed = id,
                      .listed_count = 1,
                      .reply = reply};
    return packer_add(&mlm->packer, scoring->frame.ids, scoring->frame.count, &ask, 1,
                      error);
}

static enum bert_status ask_sheet(struct scoring *scoring, struct sheet *sheet,
                                  struct bert_error *error) {
    const struct token_list *tokens = &sheet->passage.tokens;
    if (sheet->passage.error)
        return BERT_OK;
    sheet->replies =
        arena_array(&scoring->mlm->scratch, tokens->count, sizeof *sheet->replies);
    if (!sheet->replies)
        return error_memory(error);
    enum bert_status status = BERT_OK;
    for (size_t i = 0; i < tokens->count && status == BERT_OK; i++)
        if (scored(scoring, tokens->ids[i]))
            status = ask_token(scoring, sheet, i, error);
    return status;
}

static void check_finite(struct scoring *scoring, struct sheet *sheet) {
    for (size_t i = 0; !sheet->passage.error && i < sheet->passage.tokens.count; i++)
        if (sheet->replies[i].listed && !sheet->replies[i].finite)
            passage_fail(&sheet->passage, scoring->mlm, "%s", PASSAGE_NOT_FINITE);
}

static enum bert_status run(struct scoring *scoring, struct sheet *sheets, size_t count,
                            struct bert_error *error) {
    enum bert_status status = BERT_OK;
    for (size_t i = 0; i < count && status == BERT_OK; i++)
        status = ask_sheet(scoring, &sheets[i], error);
    if (status == BERT_OK)
        status = packer_flush(&scoring->mlm->packer, error);
    for (size_t i = 0; i < count && status == BERT_OK; i++)
        check_finite(scoring, &sheets[i]);
    return status;
}

static enum bert_status read_sheet(struct scoring *scoring, const struct bert_text *text,
                                   struct sheet *sheet, struct bert_error *error) {
    struct passage *passage = &sheet->passage;
    enum bert_status status = passage_read(passage, scoring->mlm, text, NULL, error);
    size_t known = 0;
    if (status != BERT_OK || passage->error)
        return status;
    for (size_t i = 0; i < passage->tokens.count; i++)
        known += scored(scoring, passage->tokens.ids[i]);
    if (passage->masks.count)
        passage_fail(passage, scoring->mlm,
                     "a [MASK] in the text: only whole text has a score");
    else if (known == 0)
        passage_fail(passage, scoring->mlm, "no token that the model knows");
    return BERT_OK;
}

/* ---- Suspects -------------------------------------------------------------------- */

static double gain_of(const struct reply *reply) {
    if (!reply->listed || reply->best_count == 0)
        return -INFINITY;
    return (double)reply->best[0].log_probability - (double)reply->listed[0];
}

static int compare_suspects(const void *left, const void *right) {
    const struct bert_suspect *a = left, *b = right;
    if (a->gain != b->gain)
        return a->gain > b->gain ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

static bool write_suspect(struct scoring *scoring, const struct sheet *sheet,
                          size_t index, struct bert_suspect *suspect) {
    struct mlm *mlm = scoring->mlm;
    const struct token_list *tokens = &sheet->passage.tokens;
    const struct reply *reply = &sheet->replies[index];
    struct bert_candidate *better =
        arena_array(&mlm->results, (size_t)scoring->k, sizeof *better);
    if (!better)
        return false;
    *suspect =
        (struct bert_suspect){.offset = tokens->starts[index],
                              .length = tokens->ends[index] - tokens->starts[index],
                              .probability = exp((double)reply->listed[0]),
                              .gain = gain_of(reply),
                              .better = better};
    for (int i = 0; i < reply->best_count && suspect->better_count < (size_t)scoring->k;
         i++) {
        const struct scored *best = &reply->best[i];
        if (best->id == tokens->ids[index])
            break; /* what follows is no better than what stands there */
        better[suspect->better_count++] =
            (struct bert_candidate){.word = tokenizer_entry(mlm->tokenizer, best->id),
                                    .probability = exp((double)best->log_probability)};
    }
    return true;
}

static bool write_suspects(struct scoring *scoring, const struct sheet *sheet,
                           struct bert_score *score) {
    size_t count = 0, tokens = sheet->passage.tokens.count;
    for (size_t i = 0; i < tokens; i++)
        count += gain_of(&sheet->replies[i]) >= scoring->gain;
    struct bert_suspect *suspects =
        arena_array(&scoring->mlm->results, count, sizeof *suspects);
    if (!suspects)
        return false;
    for (size_t i = 0; i < tokens; i++)
        if (gain_of(&sheet->replies[i]) >= scoring->gain &&
            !write_suspect(scoring, sheet, i, &suspects[score->suspect_count++]))
            return false;
    qsort(suspects, count, sizeof *suspects, compare_suspects);
    score->suspects = suspects;
    return true;
}

/* ---- Corrections ----------------------------------------------------------------- */

struct repair { /* a text on its way to being corrected */
    struct bert_score *score;
    struct sheet *sheet;                /* what it reads now */
    size_t changed[CORRECTIONS], count; /* tokens replaced, never again */
};

/* The unchanged token of greatest gain, or the token count when all is well. */
static size_t worst_token(const struct scoring *scoring, const struct repair *repair) {
    size_t tokens = repair->sheet->passage.tokens.count, worst = tokens;
    double greatest = scoring->gain;
    for (size_t i = 0; i < tokens; i++) {
        double gain = gain_of(&repair->sheet->replies[i]);
        bool changed = false;
        for (size_t c = 0; c < repair->count; c++)
            changed = changed || repair->changed[c] == i;
        if (!changed && (gain > greatest || (gain == greatest && worst == tokens))) {
            greatest = gain;
            worst = i;
        }
    }
    return worst;
}

/* Replaces the worst token; *again: the text has to be scored once more. */
static enum bert_status repair_once(struct scoring *scoring, struct repair *repair,
                                    bool *again, struct bert_error *error) {
    struct mlm *mlm = scoring->mlm;
    const struct passage *passage = &repair->sheet->passage;
    size_t worst = passage->error ? passage->tokens.count : worst_token(scoring, repair);
    *again = false;
    if (worst == passage->tokens.count)
        return BERT_OK;
    int32_t id = repair->sheet->replies[worst].best[0].id;
    struct patch patch = {passage->tokens.starts[worst], passage->tokens.ends[worst],
                          splice_word(tokenizer_entry(mlm->tokenizer, id))};
    char *text = splice_text(&mlm->results, passage->text, &patch, 1,
                             &repair->score->corrected_length);
    if (!text)
        return error_memory(error);
    repair->score->corrected = text;
    repair->changed[repair->count++] = worst;
    struct bert_text next = {.bytes = text, .length = repair->score->corrected_length};
    const int32_t *context = passage->context;
    size_t context_count = passage->context_count;
    enum bert_status status = read_sheet(scoring, &next, repair->sheet, error);
    repair->sheet->passage.context = context;
    repair->sheet->passage.context_count = context_count;
    *again = repair->count < CORRECTIONS;
    return status;
}

/* All texts of a group in step. */
static enum bert_status correct(struct scoring *scoring, struct sheet *sheets,
                                struct bert_score *scores, size_t count,
                                struct bert_error *error) {
    struct repair *repairs = arena_array(&scoring->mlm->step, count, sizeof *repairs);
    if (!repairs)
        return error_memory(error);
    size_t live = 0;
    for (size_t i = 0; i < count; i++)
        if (!sheets[i].passage.error)
            repairs[live++] = (struct repair){.score = &scores[i], .sheet = &sheets[i]};
    enum bert_status status = BERT_OK;
    while (live && status == BERT_OK) {
        size_t left = 0;
        for (size_t i = 0; i < live && status == BERT_OK; i++) {
            bool again;
            status = repair_once(scoring, &repairs[i], &again, error);
            if (again)
                repairs[left++] = repairs[i];
        }
        live = left;
        for (size_t i = 0; i < live && status == BERT_OK; i++)
            status = ask_sheet(scoring, repairs[i].sheet, error);
        if (status == BERT_OK)
            status = packer_flush(&scoring->mlm->packer, error);
        for (size_t i = 0; i < live && status == BERT_OK; i++)
            check_finite(scoring, repairs[i].sheet);
    }
    arena_reset(&scoring->mlm->step);
    return status;
}

/* ---- Results --------------------------------------------------------------------- */

static bool write_score(struct scoring *scoring, const struct sheet *sheet,
                        struct bert_score *score) {
    const struct token_list *tokens = &sheet->passage.tokens;
    struct bert_token_score *each = NULL;
    if (scoring->options->per_token) {
        each = arena_array(&scoring->mlm->results, tokens->count, sizeof *each);
        if (!each)
            return false;
    }
    for (size_t i = 0; i < tokens->count; i++) {
        bool known = sheet->replies[i].listed != NULL;
        double log_probability = known ? (double)sheet->replies[i].listed[0] : NAN;
        if (each)
            each[i] = (struct bert_token_score){tokens->ids[i], tokens->starts[i],
                                                tokens->ends[i], log_probability};
        if (!known)
            continue;
        score->tokens++;
        score->log_likelihood += log_probability;
    }
    score->unknown = tokens->unknown;
    score->mean = score->log_likelihood / (double)score->tokens;
    score->pseudo_perplexity = exp(-score->mean);
    score->per_token = each;
    score->token_count = each ? tokens->count : 0;
    if (!scoring->options->suspects)
        return true;
    score->corrected = arena_text(&scoring->mlm->results, sheet->passage.text.data,
                                  sheet->passage.text.size);
    score->corrected_length = sheet->passage.text.size;
    return score->corrected && write_suspects(scoring, sheet, score);
}

static enum bert_status score_group(struct scoring *scoring, struct sheet *sheets,
                                    struct bert_score *scores, size_t count,
                                    struct bert_error *error) {
    enum bert_status status = run(scoring, sheets, count, error);
    for (size_t i = 0; i < count && status == BERT_OK; i++) {
        if (sheets[i].passage.error)
            scores[i] = (struct bert_score){.status = BERT_RECORD,
                                            .error = sheets[i].passage.error};
        else if (!write_score(scoring, &sheets[i], &scores[i]))
            status = error_memory(error);
    }
    if (status == BERT_OK && scoring->options->suspects)
        status = correct(scoring, sheets, scores, count, error);
    return status;
}

static enum bert_status group_begin(struct scoring *scoring, struct bert_error *error) {
    struct mlm *mlm = scoring->mlm;
    arena_reset(&mlm->scratch);
    return frame_alloc(&scoring->frame, mlm, &mlm->scratch) ? BERT_OK
                                                            : error_memory(error);
}

enum bert_status score_texts(struct mlm *mlm, const struct bert_text *texts, size_t count,
                             const struct bert_score_options *options,
                             struct bert_score *scores, struct bert_error *error) {
    struct scoring scoring = {.mlm = mlm, .options = options};
    scoring.gain = options->gain > 0 ? options->gain : BERT_GAIN;
    scoring.k = options->k > 0 ? options->k : DEFAULT_K;
    scoring.special = tokenizer_class(mlm->tokenizer, ENTRY_SPECIAL);
    if (!(options->gain >= 0) || options->k < 0 ||
        options->k > tokenizer_size(mlm->tokenizer))
        return error_set(error, BERT_USAGE,
                         "gain and number of better characters must be "
                         "positive");
    struct sheet *sheets = arena_array(&mlm->results, count, sizeof *sheets);
    if (!sheets ||
        !filter_build(mlm->tokenizer, mlm->rows, FILTER_HAN | FILTER_WHOLE | FILTER_PLAIN,
                      &mlm->results, &scoring.better))
        return error_memory(error);
    enum bert_status status = BERT_OK;
    for (size_t begin = 0, end; begin < count && status == BERT_OK; begin = end) {
        size_t tokens = 0;
        status = group_begin(&scoring, error);
        for (end = begin; end < count && tokens < GROUP_TOKENS && status == BERT_OK;
             end++) {
            scores[end] = (struct bert_score){0};
            status = read_sheet(&scoring, &texts[end], &sheets[end], error);
            tokens += sheets[end].passage.tokens.count;
        }
        if (status == BERT_OK)
            status =
                score_group(&scoring, sheets + begin, scores + begin, end - begin, error);
    }
    return status;
}
