/* SPDX-License-Identifier: MIT
 *
 * serve.c: the order of things. Start: queue, listener, HTTP, then the model. End: no new
 * connections, what waits is answered, HTTP, then the queue, then the model. */
#include "service/serve_state.h"

#include "base/clock.h"
#include "io/json.h"
#include "model/bertfile.h"

#include <stdarg.h>
#include <unistd.h>

enum { BATCH_TEXTS = 8, BATCH_TOKENS = 1024, DRAIN_STEP_MS = 10, SENDING_SECONDS = 1 };

struct served_model *serve_model(struct serve *serve) {
    pthread_mutex_lock(&serve->lock);
    struct served_model *model = serve->model ? served_model_use(serve->model) : NULL;
    pthread_mutex_unlock(&serve->lock);
    return model;
}

static void put_error(struct buffer *body, const char *code, const char *message) {
    buffer_add_text(body, "{\"error\":");
    json_put_text(body, message, strlen(message));
    buffer_printf(body, ",\"code\":\"%s\"}", code);
}

void serve_error(struct http_call *call, unsigned status, const char *code,
                 const char *format, ...) {
    char message[sizeof((struct bert_error *)0)->message];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    struct buffer body = {0};
    put_error(&body, code, message);
    http_answer(call, status, "application/json", &body);
}

void serve_busy(struct http_call *call, unsigned status, const char *code,
                const char *message) {
    char seconds[16];
    snprintf(seconds, sizeof seconds, "%d", SERVE_RETRY_SECONDS);
    http_add_header(call, "Retry-After", seconds);
    serve_error(call, status, code, "%s", message);
}

void serve_failure(struct http_call *call, const struct bert_error *error,
                   const char *code) {
    switch (error->status) {
    case BERT_USAGE:
        serve_error(call, 400, "bad_words", "%s", error->message);
        return;
    case BERT_RECORD:
        serve_error(call, 400, code, "%s", error->message);
        return;
    case BERT_IO: /* dropped from the queue */
        serve_busy(call, 503, "stopping", error->message);
        return;
    default:
        serve_error(call, 500, "internal", "%s", error->message);
    }
}

static enum bert_status start(struct serve *serve, struct bert_error *error) {
    const struct serve_options *options = &serve->options;
    enum bert_status status = access_log_new(&serve->log, options->log_file,
                                             options->log_json, options->quiet, error);
    if (status == BERT_OK)
        status = cache_new(&serve->cache, options->cache, error);
    struct batcher_options queue = {.threads = options->threads,
                                    .most_texts = BATCH_TEXTS,
                                    .most_tokens = BATCH_TOKENS,
                                    .prompt_room = options->queue,
                                    .bulk_room = SERVE_MOST_UPLOADS * SERVE_UPLOAD_WINDOW,
                                    .metrics = &serve->metrics,
                                    .broken = options->broken,
                                    .broken_arg = options->broken_arg};
    if (status == BERT_OK)
        status = batcher_new(&serve->batcher, &queue, error);
    if (status == BERT_OK)
        status = listener_open(&serve->listener, options->listen, error);
    if (status != BERT_OK)
        return status;
    struct http_options http = {.listener = serve->listener.socket,
                                .inherited = serve->listener.inherited,
                                .max_connections = options->max_connections,
                                .idle_seconds = options->idle_seconds,
                                .hooks = serve_hooks(serve)};
    status = http_start(&serve->http, &http, error);
    if (status != BERT_OK)
        close(serve->listener.socket);
    return status;
}

enum bert_status serve_new(struct serve **serve, const struct serve_options *options,
                           struct bert_error *error) {
    struct serve *made = calloc(1, sizeof *made);
    if (!made)
        return error_memory(error);
    made->options = *options;
    made->started = clock_seconds();
    pthread_mutex_init(&made->lock, NULL);
    pthread_mutex_init(&made->upload_lock, NULL);
    pthread_cond_init(&made->upload_ended, NULL);
    enum bert_status status = start(made, error);
    if (status != BERT_OK)
        serve_free(made);
    else
        *serve = made;
    return status;
}

enum bert_status serve_load(struct serve *serve, struct bert_error *error) {
    struct bert_model *opened;
    struct served_model *fresh;
    bool first = serve->model == NULL; /* nobody else ever sets it */
    enum bert_status status =
        serve->options.open(serve->options.open_arg, &opened, error);
    if (status == BERT_OK)
        status = served_model_new(&fresh, opened, error);
    if (status != BERT_OK) {
        if (!first) {
            atomic_fetch_add(&serve->metrics.reload_failures, 1);
            access_log_note(serve->log, "the old model stays: %s", error->message);
        }
        return status;
    }
    /* The queue first: what is asked under the new model must not meet the old one. */
    batcher_set_model(serve->batcher, fresh);
    pthread_mutex_lock(&serve->lock);
    struct served_model *old = serve->model;
    serve->model = fresh;
    pthread_mutex_unlock(&serve->lock);
    served_model_drop(old);
    cache_clear(serve->cache);
    const struct bert_info *info = &fresh->info;
    if (!first)
        atomic_fetch_add(&serve->metrics.reloads, 1);
    access_log_note(serve->log, "%s %s (%s, %s, %s %s)",
                    first ? "ready on" : "reloaded on", serve->listener.name, info->name,
                    precision_name(info->precision), info->device, info->kernel);
    if (first)
        listen_notify("READY=1");
    return BERT_OK;
}

static void pause_briefly(void) {
    struct timespec step = {0, DRAIN_STEP_MS * 1000000L};
    nanosleep(&step, NULL);
}

bool serve_drain(struct serve *serve, int seconds, bool (*hurry)(void)) {
    double end = clock_seconds() + seconds;
    listen_notify("STOPPING=1");
    atomic_store(&serve->draining, true);
    http_stop_accepting(serve->http);
    access_log_note(serve->log, "draining %zu requests", http_calls(serve->http));
    while (http_calls(serve->http) > 0 && clock_seconds() < end && !(hurry && hurry()))
        pause_briefly();
    return http_calls(serve->http) == 0;
}

/* Calls that wait are answered, and their answers sent, before the HTTP server may end;
 * the others, whose clients dawdle, are cut off. */
static void end_waiting(struct serve *serve) {
    atomic_store(&serve->ending, true);
    if (serve->batcher)
        batcher_stop(serve->batcher); /* joins the workers: nobody answers later */
    pthread_mutex_lock(&serve->upload_lock);
    while (serve->upload_threads)
        pthread_cond_wait(&serve->upload_ended, &serve->upload_lock);
    pthread_mutex_unlock(&serve->upload_lock);
    double end = clock_seconds() + SENDING_SECONDS;
    while (serve->http && http_calls(serve->http) > 0 && clock_seconds() < end)
        pause_briefly();
}

void serve_free(struct serve *serve) {
    if (!serve)
        return;
    if (serve->http)
        http_stop_accepting(serve->http);
    end_waiting(serve);
    http_free(serve->http); /* its thread may still be asking the batcher */
    batcher_free(serve->batcher);
    listener_release(&serve->listener);
    cache_free(serve->cache);
    served_model_drop(serve->model);
    access_log_free(serve->log);
    pthread_mutex_destroy(&serve->lock);
    pthread_mutex_destroy(&serve->upload_lock);
    pthread_cond_destroy(&serve->upload_ended);
    free(serve);
}

const char *serve_address(const struct serve *serve) {
    return serve->listener.name;
}
