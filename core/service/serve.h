/* SPDX-License-Identifier: MIT
 *
 * serve.h: the server as a whole: listens at once, answers 503 until a model is there,
 * takes a new model without losing a request, and ends in order. */
#ifndef SERVICE_SERVE_H
#define SERVICE_SERVE_H

#include "base/status.h"

struct serve;

struct serve_options {   /* strings live as long as the server */
    const char *listen;  /* as listener_open takes it, or NULL */
    const char *version; /* of the program */
    int threads;         /* cores that the model may use */
    unsigned max_connections, idle_seconds;
    size_t cache, queue;         /* answers kept; texts that may wait */
    size_t max_body, max_upload; /* bytes: JSON, CSV */
    const char *cors;            /* an origin, "*", or NULL */
    const char *api_key;         /* or NULL */
    int log_file;                /* descriptor */
    bool log_json, log_text, quiet;
    /* Opens the model; said is what failed, for the log. */
    enum bert_status (*open)(void *arg, struct bert_model **model,
                             struct bert_error *error);
    void *open_arg;
    /* Told once, by another thread, when the model fails again and again (batcher.h). */
    void (*broken)(void *arg, const struct bert_error *error);
    void *broken_arg;
};

enum bert_status serve_new(struct serve **serve, const struct serve_options *options,
                           struct bert_error *error);
/* Opens a model and, when that succeeds, serves it: the first, and again later ones. Call
 * it from one thread at a time. */
enum bert_status serve_load(struct serve *serve, struct bert_error *error);
/* Stops accepting and waits until all is answered; false when that took longer than
 * seconds or *hurry became true: what still waits then has been answered with 503. */
bool serve_drain(struct serve *serve, int seconds, bool (*hurry)(void));
void serve_free(struct serve *serve);

const char *serve_address(const struct serve *serve); /* "http://127.0.0.1:8000" */

#endif
