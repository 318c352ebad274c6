/* SPDX-License-Identifier: MIT
 *
 * question.c: the key is the model's generation, the options and the token ids, byte for
 * byte; the word list's size stands before it, so that no two questions share a key. */
#include "service/question.h"

static size_t count_masks(const struct bert_tokens *tokens, int32_t mask) {
    size_t count = 0;
    for (size_t i = 0; i < tokens->count; i++)
        count += tokens->ids[i] == mask;
    return count;
}

static void make_key(struct buffer *key, const struct served_model *model,
                     const struct question_options *options,
                     const struct bert_tokens *tokens) {
    uint64_t head[] = {model->generation, (uint64_t)options->k, options->words.lines,
                       options->words.list.size};
    buffer_reserve(key, sizeof head + options->words.list.size +
                            tokens->count * sizeof *tokens->ids);
    buffer_add(key, head, sizeof head);
    buffer_add(key, options->words.list.data, options->words.list.size);
    buffer_add(key, tokens->ids, tokens->count * sizeof *tokens->ids);
}

static enum bert_status refuse(const char **code, const char *word,
                               struct bert_error *error, const char *message) {
    *code = word;
    return error_set(error, BERT_RECORD, "%s", message);
}

enum bert_status question_check(struct question *question, struct bert_session *session,
                                const struct served_model *model, struct span text,
                                const struct question_options *options, const char **code,
                                struct bert_error *error) {
    struct bert_tokens tokens;
    char why[160];
    memset(question, 0, sizeof *question);
    *code = "bad_text";
    enum bert_status status =
        bert_tokenize(session, text.data, text.size, BERT_SPECIAL, &tokens, error);
    if (status != BERT_OK)
        return status;
    size_t positions = (size_t)model->info.positions;
    size_t masks = count_masks(&tokens, model->mask_id);
    size_t answers =
        options->k ? (size_t)options->k : bert_words_count(options->compiled);
    if (masks == 0)
        return refuse(code, "no_mask", error,
                      "no [MASK] in the text: write [MASK] where a word is missing");
    snprintf(why, sizeof why, "%zu masks; a text may have at most %d", masks,
             QUESTION_MOST_MASKS);
    if (masks > QUESTION_MOST_MASKS)
        return refuse(code, "too_many_masks", error, why);
    snprintf(why, sizeof why, "%zu masks with %zu answers each; at most %d in all", masks,
             answers, QUESTION_MOST_ANSWERS);
    if (masks * answers > QUESTION_MOST_ANSWERS)
        return refuse(code, "too_many_answers", error, why);
    bool fits = tokens.count <= positions;
    snprintf(why, sizeof why, "%zu tokens; the model reads at most %zu", tokens.count,
             positions);
    if (!fits && options->refuse_long)
        return refuse(code, "too_long", error, why);
    question->tokens = tokens.count;
    question->answers = masks * answers;
    question->cost = fits ? tokens.count : masks * positions;
    if (question->cost > QUESTION_MOST_COST)
        return refuse(code, "too_long", error, "the text is too long for so many masks");
    if (options->compiled)
        question->cost =
            masks * bert_words_cost(options->compiled, fits ? tokens.count : positions);
    if (question->cost > QUESTION_MOST_READ)
        return refuse(code, "too_many_answers", error,
                      "the words are too long, or too many, for this text");
    make_key(&question->key, model, options, &tokens);
    return question->key.failed ? error_memory(error) : BERT_OK;
}

void question_release(struct question *question) {
    buffer_release(&question->key);
}

enum bert_status question_check_targets(struct bert_session *session,
                                        const struct served_model *model,
                                        struct span targets, struct bert_error *error) {
    while (targets.size) {
        const char *end = memchr(targets.data, '\n', targets.size);
        struct span word = {targets.data,
                            end ? (size_t)(end - targets.data) : targets.size};
        struct bert_tokens tokens;
        enum bert_status status =
            bert_tokenize(session, word.data, word.size, 0, &tokens, error);
        if (status != BERT_OK)
            return status;
        if (tokens.count != 1 || tokens.unknown || tokens.ids[0] == model->mask_id)
            return error_set(error, BERT_RECORD,
                             "target \"%.*s\" is not one token of the vocabulary",
                             (int)(word.size < 100 ? word.size : 100), word.data);
        size_t used = word.size + (end != NULL);
        targets.data += used;
        targets.size -= used;
    }
    return BERT_OK;
}
