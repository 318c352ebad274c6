/* SPDX-License-Identifier: MIT
 *
 * outcome.c: the block is laid out as header, masks, candidates, ids, strings; sizes come
 * from a result that is in memory already, so their sum cannot overflow. */
#include "service/outcome.h"

#include "io/json.h"

#include <math.h>
#include <stdatomic.h>

struct block {
    struct outcome outcome; /* first: an outcome is its block */
    atomic_int users;
};

static size_t text_size(const char *text) {
    return text ? strlen(text) + 1 : 0;
}

static const char *put_text(char **at, const char *text) {
    size_t size = text_size(text);
    if (size == 0)
        return NULL;
    char *copy = *at;
    memcpy(copy, text, size);
    *at += size;
    return copy;
}

struct outcome *outcome_new(const struct bert_result *result, bool words) {
    size_t candidates = 0, strings = 0;
    for (size_t m = 0; m < result->mask_count; m++) {
        const struct bert_mask *mask = &result->masks[m];
        candidates += mask->candidate_count;
        for (size_t c = 0; c < mask->candidate_count; c++)
            strings += text_size(mask->candidates[c].word) +
                       text_size(mask->candidates[c].label);
    }
    struct block *block =
        malloc(sizeof *block + result->mask_count * sizeof(struct outcome_mask) +
               candidates * sizeof(struct outcome_candidate) +
               result->id_count * sizeof(int32_t) + strings);
    if (!block)
        return NULL;
    struct outcome_mask *masks = (void *)(block + 1);
    struct outcome_candidate *candidate = (void *)(masks + result->mask_count);
    int32_t *ids = (void *)(candidate + candidates);
    char *at = (void *)(ids + result->id_count);
    for (size_t m = 0; m < result->mask_count; m++) {
        const struct bert_mask *mask = &result->masks[m];
        masks[m] =
            (struct outcome_mask){mask->position, candidate, mask->candidate_count};
        for (size_t c = 0; c < mask->candidate_count; c++) {
            const struct bert_candidate *from = &mask->candidates[c];
            *candidate++ = (struct outcome_candidate){
                put_text(&at, from->word), put_text(&at, from->label),
                from->id_count ? from->ids[0] : -1, from->probability, from->share};
        }
    }
    if (result->id_count)
        memcpy(ids, result->ids, result->id_count * sizeof *ids);
    block->outcome =
        (struct outcome){masks, result->mask_count, ids, result->id_count, words};
    atomic_init(&block->users, 1);
    return &block->outcome;
}

struct outcome *outcome_use(struct outcome *outcome) {
    atomic_fetch_add(&((struct block *)outcome)->users, 1);
    return outcome;
}

void outcome_drop(struct outcome *outcome) {
    if (outcome && atomic_fetch_sub(&((struct block *)outcome)->users, 1) == 1)
        free(outcome);
}

double outcome_confidence(const struct outcome *outcome,
                          const struct outcome_candidate *candidate) {
    return outcome->words ? candidate->share : candidate->probability;
}

typedef void put_candidate(struct buffer *out, const struct outcome *outcome,
                           const struct outcome_candidate *candidate);

static void put_lists(struct buffer *out, const struct outcome *outcome, int k,
                      put_candidate *put) {
    bool several = outcome->mask_count > 1;
    if (several)
        buffer_add_byte(out, '[');
    for (size_t m = 0; m < outcome->mask_count; m++) {
        const struct outcome_mask *mask = &outcome->masks[m];
        buffer_add_text(out, m ? ",[" : "[");
        for (size_t c = 0; c < mask->count && (k == 0 || c < (size_t)k); c++) {
            if (c)
                buffer_add_byte(out, ',');
            put(out, outcome, &mask->candidates[c]);
        }
        buffer_add_byte(out, ']');
    }
    if (several)
        buffer_add_byte(out, ']');
}

static void put_word(struct buffer *out, const struct outcome *outcome,
                     const struct outcome_candidate *candidate) {
    json_put_text(out, candidate->word, strlen(candidate->word));
}

static void put_score(struct buffer *out, const struct outcome *outcome,
                      const struct outcome_candidate *candidate) {
    json_put_number(out, outcome_confidence(outcome, candidate));
}

static void put_percent(struct buffer *out, const struct outcome *outcome,
                        const struct outcome_candidate *candidate) {
    double percent = 100 * outcome_confidence(outcome, candidate);
    buffer_add_text(out, "{\"word\":");
    put_word(out, outcome, candidate);
    if (isfinite(percent))
        buffer_printf(out, ",\"confidence\":%.2f", percent);
    else
        buffer_add_text(out, ",\"confidence\":0.00");
    if (candidate->label) {
        buffer_add_text(out, ",\"label\":");
        json_put_text(out, candidate->label, strlen(candidate->label));
    }
    buffer_add_byte(out, '}');
}

void outcome_put_percent(struct buffer *out, const struct outcome *outcome, int k) {
    put_lists(out, outcome, k, put_percent);
}

void outcome_put_words(struct buffer *out, const struct outcome *outcome, int k) {
    put_lists(out, outcome, k, put_word);
}

void outcome_put_scores(struct buffer *out, const struct outcome *outcome, int k) {
    put_lists(out, outcome, k, put_score);
}

/* Theirs decodes the one token for token_str and the whole sequence for sequence, without
 * special tokens when there is one mask alone. */
static enum bert_status put_element(struct buffer *out, const struct outcome *outcome,
                                    const struct outcome_candidate *candidate,
                                    int32_t *ids, size_t position,
                                    struct bert_session *session,
                                    struct bert_error *error) {
    const char *text;
    enum bert_status status =
        bert_decode(session, &candidate->id, 1, false, &text, error);
    if (status != BERT_OK)
        return status;
    buffer_add_text(out, "{\"score\":");
    json_put_digits(out, candidate->probability, 9);
    buffer_printf(out, ",\"token\":%d,\"token_str\":", (int)candidate->id);
    json_put_text(out, text, strlen(text));
    int32_t mask = ids[position];
    ids[position] = candidate->id;
    status = bert_decode(session, ids, outcome->id_count, outcome->mask_count == 1, &text,
                         error);
    ids[position] = mask;
    if (status != BERT_OK)
        return status;
    buffer_add_text(out, ",\"sequence\":");
    json_put_text(out, text, strlen(text));
    buffer_add_byte(out, '}');
    return BERT_OK;
}

enum bert_status outcome_put_fill_mask(struct buffer *out, const struct outcome *outcome,
                                       int k, struct bert_session *session,
                                       struct bert_error *error) {
    bool several = outcome->mask_count > 1;
    int32_t *ids = malloc(outcome->id_count * sizeof *ids + 1);
    if (!ids)
        return error_memory(error);
    memcpy(ids, outcome->ids, outcome->id_count * sizeof *ids);
    enum bert_status status = BERT_OK;
    if (several)
        buffer_add_byte(out, '[');
    for (size_t m = 0; m < outcome->mask_count && status == BERT_OK; m++) {
        const struct outcome_mask *mask = &outcome->masks[m];
        buffer_add_text(out, m ? ",[" : "[");
        for (size_t c = 0; c < mask->count && (k == 0 || c < (size_t)k); c++) {
            if (c)
                buffer_add_byte(out, ',');
            status = put_element(out, outcome, &mask->candidates[c], ids, mask->position,
                                 session, error);
            if (status != BERT_OK)
                break;
        }
        buffer_add_byte(out, ']');
    }
    if (several)
        buffer_add_byte(out, ']');
    free(ids);
    return status;
}
