/* SPDX-License-Identifier: MIT
 *
 * fill.c: checks what is asked, reads the texts, and answers each mask on its own; word
 * lists and whole fillings are handed on. */
#include "mlm/fill.h"

#include "mlm/answer.h"
#include "mlm/beam.h"
#include "mlm/filter.h"
#include "mlm/words.h"

#include <math.h>

enum { DEFAULT_K = 5 };

static enum bert_status check(const struct bert_fill_options *options,
                              struct bert_error *error) {
    bool span = options->span_min || options->span_max;
    if (options->k < 0)
        return error_set(error, BERT_USAGE, "the number of answers must be at least 1");
    if (!(options->threshold >= 0 && options->threshold <= 1))
        return error_set(error, BERT_USAGE, "a threshold is a probability from 0 to 1");
    if (options->words && (options->joint || span))
        return error_set(error, BERT_USAGE,
                         "a list of words goes with neither joint nor span");
    if (span && (options->span_min < 1 || options->span_max > BEAM_SPAN ||
                 options->span_min > options->span_max))
        return error_set(error, BERT_USAGE, "a span is 1 to %d characters", BEAM_SPAN);
    if ((options->joint || span) && options->k > BEAM_K)
        return error_set(error, BERT_USAGE, "joint and span give at most %d fillings",
                         BEAM_K);
    return BERT_OK;
}

/* ---- Each mask on its own -------------------------------------------------------- */

static enum bert_status ask_passage(struct mlm *mlm, struct passage *passage,
                                    struct frame *frame, const struct ask *proto,
                                    struct reply **replies, struct bert_error *error) {
    size_t masks = passage->masks.count;
    if (passage->error || !answer_affordable(passage, mlm, masks, (size_t)proto->k))
        return BERT_OK;
    *replies = arena_array(&mlm->scratch, masks, sizeof **replies);
    struct ask *asks = arena_array(&mlm->scratch, masks, sizeof *asks);
    if (!*replies || !asks)
        return error_memory(error);
    for (size_t i = 0; i < masks; i++) {
        struct reply *reply = &(*replies)[i];
        reply->best = arena_alloc(&mlm->results, (size_t)proto->k * sizeof *reply->best);
        if (!reply->best)
            return error_memory(error);
        asks[i] = *proto;
        asks[i].reply = reply;
    }
    return answer_ask(mlm, passage, frame, asks, error);
}

static bool read_reply(struct mlm *mlm, const struct passage *passage, size_t index,
                       const struct reply *reply, double threshold,
                       struct bert_mask *mask) {
    struct bert_candidate *list =
        arena_array(&mlm->results, (size_t)reply->best_count, sizeof *list);
    if (!list && reply->best_count)
        return false;
    mask->candidates = list;
    for (int i = 0; i < reply->best_count; i++) {
        const struct scored *scored = &reply->best[i];
        if (exp((double)scored->log_probability) < threshold)
            break;
        struct bert_candidate *candidate = &list[mask->candidate_count++];
        candidate->ids = &scored->id;
        candidate->id_count = 1;
        if (!answer_candidate(candidate, mlm, passage, &passage->masks.places[index],
                              tokenizer_entry(mlm->tokenizer, scored->id),
                              (double)scored->log_probability))
            return false;
    }
    return true;
}

static enum bert_status read_replies(struct mlm *mlm, struct passage *passage,
                                     const struct reply *replies, double threshold,
                                     struct bert_result *result,
                                     struct bert_error *error) {
    struct bert_mask *masks = answer_masks(mlm, passage);
    if (!masks)
        return error_memory(error);
    for (size_t i = 0; i < passage->masks.count; i++) {
        if (!replies[i].finite) {
            passage_fail(passage, mlm, "%s", PASSAGE_NOT_FINITE);
            return BERT_OK;
        }
        if (!read_reply(mlm, passage, i, &replies[i], threshold, &masks[i]))
            return error_memory(error);
    }
    result->masks = masks;
    result->mask_count = passage->masks.count;
    return BERT_OK;
}

static enum bert_status fill_alone(struct mlm *mlm, struct passage *passages,
                                   size_t count, const struct bert_fill_options *options,
                                   unsigned filters, struct bert_result *results,
                                   struct bert_error *error) {
    struct reply **replies = arena_array(&mlm->scratch, count, sizeof(struct reply *));
    struct frame frame;
    int size = tokenizer_size(mlm->tokenizer), k = options->k ? options->k : DEFAULT_K;
    struct ask proto = {.k = k < size ? k : size};
    if (!replies || !frame_alloc(&frame, mlm, &mlm->scratch) ||
        !filter_build(mlm->tokenizer, mlm->rows, filters, &mlm->scratch, &proto.allowed))
        return error_memory(error);
    enum bert_status status = BERT_OK;
    for (size_t i = 0; i < count && status == BERT_OK; i++)
        status = ask_passage(mlm, &passages[i], &frame, &proto, &replies[i], error);
    if (status == BERT_OK)
        status = packer_flush(&mlm->packer, error);
    for (size_t i = 0; i < count && status == BERT_OK; i++)
        if (!passages[i].error)
            status = read_replies(mlm, &passages[i], replies[i], options->threshold,
                                  &results[i], error);
    return status;
}

/* ---- All ways -------------------------------------------------------------------- */

static enum bert_status read_texts(struct mlm *mlm, const struct bert_text *texts,
                                   size_t count, const struct bert_fill_options *options,
                                   struct passage *passages, struct bert_error *error) {
    const struct tokenize_options tokenize = {.mask_tokens = options->mask_tokens,
                                              .mask_token_count =
                                                  options->mask_token_count};
    for (size_t i = 0; i < count; i++) {
        struct passage *passage = &passages[i];
        enum bert_status status = passage_read(passage, mlm, &texts[i], &tokenize, error);
        if (status != BERT_OK)
            return status;
        if (passage->error || passage->masks.count)
            continue;
        struct bert_error why = {0};
        mask_missing(texts[i].bytes, texts[i].length, &why);
        passage_fail(passage, mlm, "%s", why.message);
    }
    return BERT_OK;
}

static void finish(const struct mlm *mlm, const struct passage *passage,
                   struct bert_result *result) {
    result->note = passage->note;
    result->pad_id = tokenizer_special(mlm->tokenizer)->pad;
    if (!passage->error) {
        result->ids = passage->ids;
        result->id_count = passage->tokens.count + 2;
        return;
    }
    *result = (struct bert_result){.status = BERT_RECORD, .error = passage->error};
}

enum bert_status fill_texts(struct mlm *mlm, const struct bert_text *texts, size_t count,
                            const struct bert_fill_options *options,
                            struct bert_result *results, struct bert_error *error) {
    enum bert_status status = check(options, error);
    struct passage *passages = arena_array(&mlm->results, count, sizeof *passages);
    if (status == BERT_OK && !passages && count)
        status = error_memory(error);
    if (status == BERT_OK)
        status = read_texts(mlm, texts, count, options, passages, error);
    if (status != BERT_OK)
        return status;
    for (size_t i = 0; i < count; i++)
        results[i] = (struct bert_result){0};
    unsigned filters = (options->han ? FILTER_HAN : 0) |
                       (options->whole ? FILTER_WHOLE : 0) |
                       (options->no_punct ? FILTER_NO_PUNCT : 0);
    if (options->words)
        status = words_fill(mlm, passages, count, options, results, error);
    else if (options->joint || options->span_max)
        status = beam_fill(mlm, passages, count, options, filters | FILTER_PLAIN, results,
                           error);
    else
        status = fill_alone(mlm, passages, count, options, filters, results, error);
    for (size_t i = 0; i < count && status == BERT_OK; i++)
        finish(mlm, &passages[i], &results[i]);
    return status;
}
