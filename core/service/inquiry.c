/* SPDX-License-Identifier: MIT
 *
 * inquiry.c: a JSON request from its body to its answer. What the cache knows is answered
 * at once; the other texts go to the batcher as tickets, the call is set aside, and the
 * worker that finishes the last of them writes the answer. */
#include "service/ask.h"
#include "service/question.h"
#include "service/serve_state.h"

/* Theirs repeats the whole sentence for each answer: tokens that a request may have
 * written, some megabytes. */
enum { MOST_WRITTEN = 1 << 20 };

struct item {             /* one text */
    struct ticket ticket; /* first: a ticket is its item */
    struct inquiry *inquiry;
    struct question question;
    struct buffer words;  /* its part of the answer */
    struct buffer scores; /* INQUIRY_API_PREDICT alone */
    bool known;
    struct bert_error error;
};

struct inquiry {
    struct serve *serve;
    struct http_call *call;
    enum inquiry_shape shape;
    struct ask ask;
    atomic_size_t pending;
    size_t count;
    struct item items[];
};

static void release(void *arg) {
    struct inquiry *inquiry = arg;
    for (size_t i = 0; i < inquiry->count; i++) {
        question_release(&inquiry->items[i].question);
        buffer_release(&inquiry->items[i].words);
        buffer_release(&inquiry->items[i].scores);
    }
    ask_release(&inquiry->ask);
    free(inquiry);
}

/* ---- The answer -------------------------------------------------------------------- */

/* The model may change between two texts of a list, and ids mean something to their own
 * model alone; so each part is written as soon as its outcome is there. */
static void write_part(struct item *item, const struct outcome *outcome,
                       struct bert_session *session) {
    int k = item->ticket.k;
    item->error.status = BERT_OK;
    switch (item->inquiry->shape) {
    case INQUIRY_PREDICT:
        outcome_put_percent(&item->words, outcome, k);
        break;
    case INQUIRY_API_PREDICT:
        outcome_put_words(&item->words, outcome, k);
        outcome_put_scores(&item->scores, outcome, k);
        break;
    case INQUIRY_FILL_MASK:
        outcome_put_fill_mask(&item->words, outcome, k, session, &item->error);
        break;
    }
    if (item->words.failed || item->scores.failed)
        error_memory(&item->error);
}

static void put(struct buffer *out, const struct buffer *part) {
    buffer_add(out, part->data, part->size);
}

static void write_body(struct inquiry *inquiry, struct buffer *body) {
    struct item *first = &inquiry->items[0];
    switch (inquiry->shape) {
    case INQUIRY_PREDICT:
        buffer_add_text(body, "{\"results\":");
        put(body, &first->words);
        buffer_add_byte(body, '}');
        return;
    case INQUIRY_API_PREDICT:
        buffer_add_text(body, "{\"predictions\":");
        put(body, &first->words);
        buffer_add_text(body, ",\"scores\":");
        put(body, &first->scores);
        buffer_add_byte(body, '}');
        return;
    case INQUIRY_FILL_MASK:
        break;
    }
    if (inquiry->count == 1) { /* theirs unpacks a list of one too */
        put(body, &first->words);
        return;
    }
    for (size_t i = 0; i < inquiry->count; i++) {
        buffer_add_byte(body, i ? ',' : '[');
        put(body, &inquiry->items[i].words);
    }
    buffer_add_byte(body, ']');
}

static void answer(struct inquiry *inquiry) {
    for (size_t i = 0; i < inquiry->count; i++) {
        struct bert_error *error = &inquiry->items[i].error;
        if (error->status == BERT_OK)
            continue;
        if (inquiry->count > 1)
            error_set(error, error->status, "inputs[%zu]: %s", i, error->message);
        serve_failure(inquiry->call, error, "bad_text");
        return;
    }
    struct buffer body = {0};
    write_body(inquiry, &body);
    http_answer(inquiry->call, 200, "application/json", &body);
}

/* ---- The model --------------------------------------------------------------------- */

static bool is_wanted(struct ticket *ticket) {
    return !http_gone(((struct item *)ticket)->inquiry->call);
}

static void is_done(struct ticket *ticket, struct outcome *outcome,
                    const struct bert_error *error, struct bert_session *session,
                    struct served_model *model) {
    struct item *item = (struct item *)ticket;
    struct inquiry *inquiry = item->inquiry;
    if (outcome) {
        struct buffer *key = &item->question.key;
        cache_put(inquiry->serve->cache, (struct span){key->data, key->size}, outcome);
        write_part(item, outcome, session);
    } else {
        item->error = *error;
    }
    if (atomic_fetch_sub(&inquiry->pending, 1) == 1)
        answer(inquiry);
}

static void ask_model(struct inquiry *inquiry) {
    struct ticket *tickets[ASK_MOST_TEXTS];
    size_t count = 0;
    for (size_t i = 0; i < inquiry->count; i++)
        if (!inquiry->items[i].known)
            tickets[count++] = &inquiry->items[i].ticket;
    if (count > inquiry->serve->options.queue) {
        serve_error(inquiry->call, 400, "too_many_texts",
                    "more texts than the queue of %zu can hold",
                    inquiry->serve->options.queue);
        return;
    }
    atomic_store(&inquiry->pending, count);
    http_wait(inquiry->call); /* from here on a worker may answer */
    if (batcher_submit(inquiry->serve->batcher, tickets, count))
        return;
    if (atomic_load(&inquiry->serve->ending))
        serve_busy(inquiry->call, 503, "stopping", "the server is shutting down");
    else
        serve_busy(inquiry->call, 429, "busy", "too many requests are waiting");
}

/* ---- The request ------------------------------------------------------------------- */

static bool look_up(struct inquiry *inquiry, struct item *item,
                    struct served_model *model) {
    struct buffer *key = &item->question.key;
    struct outcome *outcome =
        cache_get(inquiry->serve->cache, (struct span){key->data, key->size});
    struct metrics *metrics = &inquiry->serve->metrics;
    atomic_fetch_add(outcome ? &metrics->cache_hits : &metrics->cache_misses, 1);
    if (!outcome)
        return false;
    write_part(item, outcome, model->front);
    outcome_drop(outcome);
    return true;
}

static enum bert_status check_written(const struct inquiry *inquiry,
                                      const struct question *question, size_t *written,
                                      const char **code, struct bert_error *error) {
    *written += question->tokens * question->answers;
    if (inquiry->shape != INQUIRY_FILL_MASK || *written <= MOST_WRITTEN)
        return BERT_OK;
    *code = "too_many_answers";
    return error_set(error, BERT_RECORD,
                     "the answer would be too long: it repeats each text for each word");
}

/* Checks every text before any is asked; false: the answer has been given. */
static bool check_texts(struct inquiry *inquiry, struct served_model *model,
                        const struct bert_words *compiled) {
    const struct ask *ask = &inquiry->ask;
    struct word_list words = {{ask->words.data, ask->words.size}, ask->word_lines};
    struct question_options options = {ask->k, words, compiled, ask->refuse_long};
    struct bert_error error;
    const char *code;
    size_t written = 0;
    for (size_t i = 0; i < inquiry->count; i++) {
        struct item *item = &inquiry->items[i];
        item->inquiry = inquiry;
        enum bert_status status = question_check(&item->question, model->front, model,
                                                 ask->texts[i], &options, &code, &error);
        if (status == BERT_OK)
            status = check_written(inquiry, &item->question, &written, &code, &error);
        if (status != BERT_OK) {
            if (inquiry->count > 1)
                error_set(&error, status, "inputs[%zu]: %s", i, error.message);
            serve_failure(inquiry->call, &error, code);
            return false;
        }
        item->ticket =
            (struct ticket){.text = {ask->texts[i].data, ask->texts[i].size, NULL, 0},
                            .k = ask->k,
                            .words = words,
                            .cost = item->question.cost,
                            .wanted = is_wanted,
                            .done = is_done};
    }
    return true;
}

static void note_for_log(struct inquiry *inquiry, size_t misses) {
    struct visit *visit = inquiry->call->context;
    if (misses == 0)
        snprintf(visit->work, sizeof visit->work, "hit");
    else if (inquiry->count == 1)
        snprintf(visit->work, sizeof visit->work, "%zu tokens",
                 inquiry->items[0].question.tokens);
    else
        snprintf(visit->work, sizeof visit->work, "%zu texts", inquiry->count);
    if (inquiry->serve->options.log_text)
        buffer_add(&visit->text, inquiry->ask.texts[0].data, inquiry->ask.texts[0].size);
}

static struct inquiry *inquiry_new(struct serve *serve, struct http_call *call,
                                   enum inquiry_shape shape, struct ask *ask) {
    struct inquiry *inquiry =
        calloc(1, sizeof *inquiry + ask->count * sizeof *inquiry->items);
    if (!inquiry)
        return NULL;
    inquiry->serve = serve;
    inquiry->call = call;
    inquiry->shape = shape;
    inquiry->ask = *ask;
    inquiry->count = ask->count;
    struct visit *visit = call->context;
    visit->inquiry = inquiry;
    visit->release = release;
    return inquiry;
}

static bool check(struct inquiry *inquiry, struct served_model *model) {
    const struct ask *ask = &inquiry->ask;
    struct bert_words *compiled = NULL;
    struct bert_error error;
    struct span words = {ask->words.data, ask->words.size};
    enum bert_status status = BERT_OK;
    if (ask->targets)
        status = question_check_targets(model->front, model, words, &error);
    if (status == BERT_OK && words.size)
        status = bert_words_new(&compiled, model->model, words.data, words.size,
                                ask->word_lines, NULL, &error);
    if (status != BERT_OK) {
        serve_failure(inquiry->call, &error, "bad_target");
        return false;
    }
    bool good = check_texts(inquiry, model, compiled);
    bert_words_free(compiled);
    return good;
}

static void run(struct inquiry *inquiry, struct served_model *model) {
    size_t misses = 0;
    if (!check(inquiry, model))
        return;
    for (size_t i = 0; i < inquiry->count; i++) {
        inquiry->items[i].known = look_up(inquiry, &inquiry->items[i], model);
        misses += !inquiry->items[i].known;
    }
    note_for_log(inquiry, misses);
    http_add_header(inquiry->call, "X-Cache", misses ? "miss" : "hit");
    if (misses)
        ask_model(inquiry);
    else
        answer(inquiry);
}

static bool is_in_query(const struct target *target) {
    struct span value;
    return target_query(target, "text", &value) ||
           target_query(target, "top_k", &value) || target_query(target, "words", &value);
}

void inquiry_start(struct serve *serve, struct http_call *call,
                   enum inquiry_shape shape) {
    struct ask ask;
    struct bert_error error;
    struct span body = {call->body.data, call->body.size};
    const char *code;
    bool in_query = shape == INQUIRY_PREDICT && is_in_query(&call->target);
    if (in_query && body.size) {
        serve_error(call, 400, "bad_request", "ask in the body or in the query");
        return;
    }
    enum ask_shape ask_shape = shape == INQUIRY_FILL_MASK ? ASK_FILL_MASK : ASK_PREDICT;
    if (ask_parse(&ask, ask_shape, body, in_query ? &call->target : NULL, &code,
                  &error) != BERT_OK) {
        ask_release(&ask);
        serve_failure(call, &error, code);
        return;
    }
    struct served_model *model = serve_model(serve);
    struct inquiry *inquiry = model ? inquiry_new(serve, call, shape, &ask) : NULL;
    if (inquiry) {
        run(inquiry, model);
    } else {
        ask_release(&ask);
        if (model)
            serve_error(call, 500, "internal", "out of memory");
        else
            serve_busy(call, 503, "loading", "the model is being loaded");
    }
    served_model_drop(model);
}
