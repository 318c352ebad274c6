/* SPDX-License-Identifier: MIT
 *
 * serve_state.h: what the files of the server share: its parts, a visit (a call with its
 * route), and the answers that all of them give. */
#ifndef SERVICE_SERVE_STATE_H
#define SERVICE_SERVE_STATE_H

#include "service/access_log.h"
#include "service/batcher.h"
#include "service/cache.h"
#include "service/http.h"
#include "service/listen.h"
#include "service/metrics.h"
#include "service/serve.h"

#include <pthread.h>

enum {
    SERVE_MOST_UPLOADS = 4,
    SERVE_LEAST_RATE = 4096, /* of an upload, bytes a second */
    SERVE_UPLOAD_WINDOW = 32,
    SERVE_RETRY_SECONDS = 1
};

struct serve {
    struct serve_options options;
    struct listener listener;
    struct http_server *http;
    struct batcher *batcher;
    struct cache *cache;
    struct access_log *log;
    struct metrics metrics;
    double started;
    atomic_bool draining; /* new calls are still answered, connections close */
    atomic_bool ending;   /* what is not done now never will be */
    atomic_int uploads;   /* that may have texts in the queue */
    pthread_mutex_t lock; /* guards model */
    struct served_model *model;
    pthread_mutex_t upload_lock; /* guards upload_threads */
    pthread_cond_t upload_ended;
    int upload_threads;
};

struct visit { /* the context of a call */
    size_t route;
    bool uploads;  /* counted in serve.uploads, until its upload sees to that */
    char work[40]; /* for the log: "hit", "3 texts" */
    void *inquiry; /* freed by release when the call ends */
    void (*release)(void *inquiry);
    struct buffer text; /* for the log, when texts are logged */
};

/* The current model with one user more, or NULL while there is none. */
struct served_model *serve_model(struct serve *serve);

/* {"error": message, "code": code} */
void serve_error(struct http_call *call, unsigned status, const char *code,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));
/* 429 or 503 with Retry-After. */
void serve_busy(struct http_call *call, unsigned status, const char *code,
                const char *message);
/* The answer that a failed text gets. code: for BERT_RECORD and BERT_USAGE. */
void serve_failure(struct http_call *call, const struct bert_error *error,
                   const char *code);

/* routes.c */
extern const char *const serve_route_names[METRICS_ROUTES];
struct http_hooks serve_hooks(struct serve *serve);

/* inquiry.c: the JSON interfaces, in a handle hook */
enum inquiry_shape { INQUIRY_PREDICT, INQUIRY_API_PREDICT, INQUIRY_FILL_MASK };
void inquiry_start(struct serve *serve, struct http_call *call, enum inquiry_shape shape);

/* upload.c: CSV in, rows out */
void upload_start(struct serve *serve, struct http_call *call);

#endif
