/* SPDX-License-Identifier: MIT
 *
 * batcher.c: each worker has a session of one thread, which is the best use of the cores
 * under load: no barriers, no core that waits for another. They share one more, with all
 * threads, for the text that comes alone. */
#include "service/batcher.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdatomic.h>

enum { LANES = 2, MOST_TEXTS = 64, LOOK_AHEAD = 64, BULK_TURN = 4 };

struct lane {
    struct ticket *first, **end;
    size_t count, room;
};

struct worker {
    struct batcher *batcher;
    pthread_t thread;
    struct served_model *model; /* that session was made for */
    struct bert_session *session;
    struct bert_words *words; /* the last list, which often comes again */
    struct buffer words_text;
    bool words_lines;
};

struct batcher {
    struct batcher_options options;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct lane lanes[LANES]; /* prompt, bulk */
    struct served_model *model;
    struct served_model *wide_model;
    struct bert_session *wide; /* of all threads; it and its model under wide_busy */
    bool wide_busy, ending;
    int active, idle;
    atomic_int failures; /* of passes, in a row */
    atomic_bool told;    /* that it is broken */
    unsigned turn;
    struct worker *workers;
    int started;
};

struct pass { /* texts that go together */
    struct ticket *tickets[MOST_TEXTS];
    size_t count, cost;
};

/* ---- Queue (under the lock) -------------------------------------------------------- */

static void lane_add(struct lane *lane, struct ticket *ticket) {
    ticket->next = NULL;
    *lane->end = ticket;
    lane->end = &ticket->next;
    lane->count++;
}

static struct ticket *lane_take(struct lane *lane, struct ticket **link) {
    struct ticket *ticket = *link;
    *link = ticket->next;
    if (!*link)
        lane->end = link;
    lane->count--;
    return ticket;
}

static bool same_words(const struct word_list *a, const struct word_list *b) {
    return a->lines == b->lines && span_equal(a->list, b->list);
}

static void fill_pass(struct batcher *batcher, struct lane *lane, struct pass *pass,
                      size_t most) {
    struct ticket **link = &lane->first;
    for (int looked = 0; *link && pass->count < most && looked < LOOK_AHEAD; looked++) {
        struct ticket *ticket = *link;
        bool fits = pass->count == 0 ||
                    (ticket->cost <= batcher->options.most_tokens - pass->cost &&
                     same_words(&ticket->words, &pass->tickets[0]->words));
        if (!fits) {
            link = &ticket->next;
            continue;
        }
        pass->tickets[pass->count++] = lane_take(lane, link);
        pass->cost += ticket->cost;
        if (pass->cost >= batcher->options.most_tokens)
            return;
    }
}

/* Idle workers get their share: eight texts that come at once to two cores go as four and
 * four. */
static void take_pass(struct batcher *batcher, struct pass *pass) {
    struct lane *prompt = &batcher->lanes[0], *bulk = &batcher->lanes[1];
    size_t workers = (size_t)batcher->idle + 1;
    size_t share = (prompt->count + bulk->count + workers - 1) / workers;
    size_t most =
        share < batcher->options.most_texts ? share : batcher->options.most_texts;
    bool bulk_first = bulk->count && ++batcher->turn % BULK_TURN == 0;
    pass->count = pass->cost = 0;
    fill_pass(batcher, bulk_first ? bulk : prompt, pass, most);
    if (pass->cost < batcher->options.most_tokens)
        fill_pass(batcher, bulk_first ? prompt : bulk, pass, most);
}

/* ---- Work -------------------------------------------------------------------------- */

static void finish_ticket(struct worker *worker, struct ticket *ticket,
                          struct outcome *outcome, const struct bert_error *error,
                          struct bert_session *session) {
    ticket->done(ticket, outcome, error, session, worker->model);
    outcome_drop(outcome);
}

static void fail_pass(struct worker *worker, struct pass *pass,
                      const struct bert_error *error, struct bert_session *session) {
    for (size_t i = 0; i < pass->count; i++)
        finish_ticket(worker, pass->tickets[i], NULL, error, session);
}

static void drop_unwanted(struct worker *worker, struct pass *pass,
                          struct bert_session *session) {
    struct bert_error error;
    size_t kept = 0;
    for (size_t i = 0; i < pass->count; i++) {
        struct ticket *ticket = pass->tickets[i];
        if (!ticket->wanted || ticket->wanted(ticket)) {
            pass->tickets[kept++] = ticket;
            continue;
        }
        error_set(&error, BERT_IO, "the client left");
        finish_ticket(worker, ticket, NULL, &error, session);
    }
    pass->count = kept;
}

static void forget_words(struct worker *worker) {
    bert_words_free(worker->words);
    worker->words = NULL;
}

static enum bert_status find_words(struct worker *worker, const struct word_list *list,
                                   const struct bert_words **words,
                                   struct bert_error *error) {
    *words = NULL;
    if (list->list.size == 0)
        return BERT_OK;
    struct span kept = {worker->words_text.data, worker->words_text.size};
    if (!worker->words || worker->words_lines != list->lines ||
        !span_equal(kept, list->list)) {
        forget_words(worker);
        worker->words_text.size = 0;
        buffer_add(&worker->words_text, list->list.data, list->list.size);
        worker->words_lines = list->lines;
        if (worker->words_text.failed)
            return error_memory(error);
        enum bert_status status =
            bert_words_new(&worker->words, worker->model->model, list->list.data,
                           list->list.size, list->lines, NULL, error);
        if (status != BERT_OK) {
            worker->words = NULL;
            return status;
        }
    }
    *words = worker->words;
    return BERT_OK;
}

/* All texts of a pass are asked for as many answers as the greediest wants; what is too
 * many for the others is left out when their answers are written. */
static int most_wanted(const struct pass *pass) {
    int most = 1;
    for (size_t i = 0; i < pass->count; i++) {
        if (pass->tickets[i]->k == 0)
            return 0;
        if (pass->tickets[i]->k > most)
            most = pass->tickets[i]->k;
    }
    return most;
}

static void answer_pass(struct worker *worker, struct pass *pass,
                        const struct bert_result *results, bool words,
                        struct bert_session *session) {
    struct outcome *outcomes[MOST_TEXTS];
    struct bert_error errors[MOST_TEXTS];
    /* Results live until the next use of the session, which done() may well make. */
    for (size_t i = 0; i < pass->count; i++) {
        outcomes[i] = NULL;
        if (results[i].status != BERT_OK)
            error_set(&errors[i], BERT_RECORD, "%s", results[i].error);
        else if (!(outcomes[i] = outcome_new(&results[i], words)))
            error_memory(&errors[i]);
    }
    for (size_t i = 0; i < pass->count; i++)
        finish_ticket(worker, pass->tickets[i], outcomes[i],
                      outcomes[i] ? NULL : &errors[i], session);
}

static void count_failure(struct batcher *batcher, const struct bert_error *error) {
    const struct batcher_options *options = &batcher->options;
    if (error->status == BERT_INTERNAL && options->broken &&
        atomic_fetch_add(&batcher->failures, 1) + 1 >= BATCHER_FAILURES &&
        !atomic_exchange(&batcher->told, true))
        options->broken(options->broken_arg, error);
}

static void run_pass(struct worker *worker, struct pass *pass,
                     struct bert_session *session) {
    struct bert_error error;
    struct bert_text texts[MOST_TEXTS];
    struct bert_result results[MOST_TEXTS];
    struct bert_fill_options options = {0};
    drop_unwanted(worker, pass, session);
    if (pass->count == 0)
        return;
    if (find_words(worker, &pass->tickets[0]->words, &options.words, &error) != BERT_OK) {
        fail_pass(worker, pass, &error, session);
        return;
    }
    options.k = most_wanted(pass);
    for (size_t i = 0; i < pass->count; i++)
        texts[i] = pass->tickets[i]->text;
    double started = clock_seconds();
    if (bert_fill(session, texts, pass->count, &options, results, &error) != BERT_OK) {
        fail_pass(worker, pass, &error, session);
        count_failure(worker->batcher, &error);
        return;
    }
    atomic_store(&worker->batcher->failures, 0);
    metrics_batch(worker->batcher->options.metrics, pass->count, pass->cost,
                  clock_seconds() - started);
    answer_pass(worker, pass, results, options.words != NULL, session);
}

/* ---- Workers ----------------------------------------------------------------------- */

static void leave_model(struct worker *worker) {
    forget_words(worker);
    bert_session_free(worker->session);
    worker->session = NULL;
    served_model_drop(worker->model);
    worker->model = NULL;
}

static void close_wide(struct batcher *batcher) {
    bert_session_free(batcher->wide);
    batcher->wide = NULL;
    served_model_drop(batcher->wide_model);
    batcher->wide_model = NULL;
}

/* Called and left with the lock held; lets go of it meanwhile. On failure the session
 * stays NULL, passes fail with the reason, and the next one tries again. */
static void enter_model(struct worker *worker, struct bert_error *error) {
    struct batcher *batcher = worker->batcher;
    struct served_model *model = served_model_use(batcher->model);
    pthread_mutex_unlock(&batcher->lock);
    leave_model(worker);
    worker->model = model;
    if (bert_session_new(&worker->session, model->model, 1, error) != BERT_OK)
        worker->session = NULL;
    pthread_mutex_lock(&batcher->lock);
}

/* As enter_model. Whoever comes first after a reload does it: a worker that still used
 * the old one comes here next. Without memory for it, all go on with their own. */
static void enter_wide(struct batcher *batcher) {
    struct served_model *model = served_model_use(batcher->model);
    batcher->wide_busy = true;
    pthread_mutex_unlock(&batcher->lock);
    close_wide(batcher);
    if (bert_session_new(&batcher->wide, model->model, batcher->options.threads, NULL) !=
        BERT_OK)
        batcher->wide = NULL;
    batcher->wide_model = model;
    pthread_mutex_lock(&batcher->lock);
    batcher->wide_busy = false;
}

static void serve_pass(struct worker *worker, const struct bert_error *no_session) {
    struct batcher *batcher = worker->batcher;
    struct pass pass;
    take_pass(batcher, &pass);
    bool more = batcher->lanes[0].count || batcher->lanes[1].count;
    bool alone = pass.count == 1 && batcher->active == 0 && !more;
    bool wide = alone && !batcher->wide_busy && batcher->wide &&
                batcher->wide_model == worker->model;
    batcher->wide_busy |= wide;
    batcher->active++;
    if (more && batcher->idle)
        pthread_cond_signal(&batcher->wake);
    pthread_mutex_unlock(&batcher->lock);
    if (worker->session)
        run_pass(worker, &pass, wide ? batcher->wide : worker->session);
    else
        fail_pass(worker, &pass, no_session, NULL);
    pthread_mutex_lock(&batcher->lock);
    batcher->active--;
    batcher->wide_busy &= !wide;
}

static void *work(void *arg) {
    struct worker *worker = arg;
    struct batcher *batcher = worker->batcher;
    struct bert_error error = {0};
    pthread_mutex_lock(&batcher->lock);
    for (;;) {
        bool waiting = batcher->lanes[0].count || batcher->lanes[1].count;
        if (worker->model != batcher->model || (waiting && !worker->session))
            enter_model(worker, &error);
        if (batcher->options.threads > 1 && !batcher->wide_busy &&
            batcher->wide_model != batcher->model)
            enter_wide(batcher);
        waiting = batcher->lanes[0].count || batcher->lanes[1].count;
        if (waiting) {
            serve_pass(worker, &error);
        } else if (batcher->ending) {
            break;
        } else if (worker->model == batcher->model) {
            batcher->idle++;
            pthread_cond_wait(&batcher->wake, &batcher->lock);
            batcher->idle--;
        }
    }
    pthread_mutex_unlock(&batcher->lock);
    leave_model(worker);
    buffer_release(&worker->words_text);
    return NULL;
}

enum bert_status batcher_new(struct batcher **batcher,
                             const struct batcher_options *options,
                             struct bert_error *error) {
    struct batcher *made = calloc(1, sizeof *made);
    if (!made)
        return error_memory(error);
    made->options = *options;
    if (made->options.most_texts > MOST_TEXTS)
        made->options.most_texts = MOST_TEXTS;
    const size_t rooms[LANES] = {options->prompt_room, options->bulk_room};
    for (int i = 0; i < LANES; i++)
        made->lanes[i] = (struct lane){NULL, &made->lanes[i].first, 0, rooms[i]};
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->wake, NULL);
    made->workers = calloc((size_t)options->threads, sizeof *made->workers);
    for (int i = 0; made->workers && i < options->threads; i++) {
        struct worker *worker = &made->workers[i];
        worker->batcher = made;
        if (pthread_create(&worker->thread, NULL, work, worker) != 0)
            break;
        made->started++;
    }
    if (made->started == 0) {
        batcher_free(made);
        return error_set(error, BERT_INTERNAL, "cannot start a thread");
    }
    *batcher = made;
    return BERT_OK;
}

static void end_waiting(struct batcher *batcher) {
    struct ticket *waiting[LANES];
    struct bert_error error;
    pthread_mutex_lock(&batcher->lock);
    batcher->ending = true;
    for (int i = 0; i < LANES; i++) {
        waiting[i] = batcher->lanes[i].first;
        batcher->lanes[i] =
            (struct lane){NULL, &batcher->lanes[i].first, 0, batcher->lanes[i].room};
    }
    pthread_cond_broadcast(&batcher->wake);
    pthread_mutex_unlock(&batcher->lock);
    error_set(&error, BERT_IO, "the server is shutting down");
    for (int i = 0; i < LANES; i++) {
        for (struct ticket *ticket = waiting[i], *next; ticket; ticket = next) {
            next = ticket->next;
            ticket->done(ticket, NULL, &error, NULL, NULL);
        }
    }
}

void batcher_stop(struct batcher *batcher) {
    end_waiting(batcher);
    for (int i = 0; i < batcher->started; i++)
        pthread_join(batcher->workers[i].thread, NULL);
    batcher->started = 0;
}

void batcher_free(struct batcher *batcher) {
    if (!batcher)
        return;
    batcher_stop(batcher);
    close_wide(batcher);
    served_model_drop(batcher->model);
    pthread_mutex_destroy(&batcher->lock);
    pthread_cond_destroy(&batcher->wake);
    free(batcher->workers);
    free(batcher);
}

void batcher_set_model(struct batcher *batcher, struct served_model *model) {
    pthread_mutex_lock(&batcher->lock);
    struct served_model *old = batcher->model;
    batcher->model = served_model_use(model);
    pthread_cond_broadcast(&batcher->wake);
    pthread_mutex_unlock(&batcher->lock);
    served_model_drop(old);
}

bool batcher_submit(struct batcher *batcher, struct ticket *const *tickets,
                    size_t count) {
    struct lane *lane = &batcher->lanes[tickets[0]->bulk];
    pthread_mutex_lock(&batcher->lock);
    bool fits = !batcher->ending && count <= lane->room - lane->count;
    for (size_t i = 0; fits && i < count; i++)
        lane_add(lane, tickets[i]);
    if (fits && batcher->idle)
        pthread_cond_signal(&batcher->wake); /* who takes some wakes the next */
    pthread_mutex_unlock(&batcher->lock);
    return fits;
}

size_t batcher_waiting(struct batcher *batcher) {
    pthread_mutex_lock(&batcher->lock);
    size_t waiting = batcher->lanes[0].count + batcher->lanes[1].count;
    pthread_mutex_unlock(&batcher->lock);
    return waiting;
}
