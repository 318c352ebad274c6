/* SPDX-License-Identifier: MIT
 *
 * routes.c: which call goes where, and what every call must pass first: a clean target, a
 * known route and method, one way of telling the body's length, the key, the size. */
#include "base/clock.h"
#include "io/json.h"
#include "model/bertfile.h"
#include "service/page.h"
#include "service/serve_state.h"

#include <strings.h>

enum route {
    ROUTE_PAGE,
    ROUTE_FILL_MASK,
    ROUTE_MODELS,
    ROUTE_PREDICT,
    ROUTE_API_PREDICT,
    ROUTE_BATCH,
    ROUTE_HEALTH,
    ROUTE_METRICS,
    ROUTE_VERSION,
    ROUTE_OPENAPI,
    ROUTE_PREFLIGHT,
    ROUTE_UNKNOWN,
};

const char *const serve_route_names[METRICS_ROUTES] = {
    [ROUTE_PAGE] = "/",
    [ROUTE_FILL_MASK] = "POST /",
    [ROUTE_MODELS] = "/models",
    [ROUTE_PREDICT] = "/predict",
    [ROUTE_API_PREDICT] = "/api/predict",
    [ROUTE_BATCH] = "/api/batch",
    [ROUTE_HEALTH] = "/health",
    [ROUTE_METRICS] = "/metrics",
    [ROUTE_VERSION] = "/version",
    [ROUTE_OPENAPI] = "/openapi.yaml",
    [ROUTE_PREFLIGHT] = "OPTIONS",
    [ROUTE_UNKNOWN] = "unknown",
};

static const struct path_row {
    const char *path;
    enum route get, post; /* ROUTE_UNKNOWN: no such method */
    bool open;            /* GET needs no key */
} paths[] = {
    {"/", ROUTE_PAGE, ROUTE_FILL_MASK, true},
    {"/models/", ROUTE_UNKNOWN, ROUTE_MODELS, false}, /* and all below */
    {"/predict", ROUTE_UNKNOWN, ROUTE_PREDICT, false},
    {"/api/predict", ROUTE_UNKNOWN, ROUTE_API_PREDICT, false},
    {"/api/batch", ROUTE_UNKNOWN, ROUTE_BATCH, false},
    {"/health", ROUTE_HEALTH, ROUTE_UNKNOWN, true},
    {"/metrics", ROUTE_METRICS, ROUTE_UNKNOWN, false},
    {"/version", ROUTE_VERSION, ROUTE_UNKNOWN, false},
    {"/openapi.yaml", ROUTE_OPENAPI, ROUTE_UNKNOWN, true},
};

/* ---- Cross-origin rules ------------------------------------------------------------ */

static bool origin_is_allowed(const struct serve *serve, struct http_call *call) {
    const char *allowed = serve->options.cors, *origin = http_header(call, "Origin");
    return allowed && origin &&
           (strcmp(allowed, "*") == 0 || strcmp(allowed, origin) == 0);
}

static void add_cors(const struct serve *serve, struct http_call *call) {
    if (serve->options.cors && strcmp(serve->options.cors, "*") != 0)
        http_add_header(call, "Vary", "Origin");
    if (origin_is_allowed(serve, call))
        http_add_header(call, "Access-Control-Allow-Origin", serve->options.cors);
}

/* Header names go back as they came, so they must be nothing but names. */
static bool is_header_list(const char *text) {
    size_t size = strlen(text);
    return size <= 1000 &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789-_., ") == size;
}

static bool answer_preflight(const struct serve *serve, struct http_call *call) {
    if (strcmp(call->method, "OPTIONS") != 0 || !origin_is_allowed(serve, call) ||
        !http_header(call, "Access-Control-Request-Method"))
        return false;
    const char *asked = http_header(call, "Access-Control-Request-Headers");
    http_add_header(call, "Access-Control-Allow-Methods", "GET, POST");
    http_add_header(call, "Access-Control-Allow-Headers",
                    asked && is_header_list(asked) ? asked
                                                   : "Authorization, Content-Type");
    http_add_header(call, "Access-Control-Max-Age", "86400");
    http_answer(call, 204, NULL, NULL);
    return true;
}

/* ---- What a call must pass --------------------------------------------------------- */

static const struct path_row *find_path(struct span path) {
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct span row = span_of(paths[i].path);
        bool is_tree = row.size > 1 && row.data[row.size - 1] == '/';
        if (is_tree ? path.size > row.size && !memcmp(path.data, row.data, row.size)
                    : span_equal(path, row))
            return &paths[i];
    }
    return NULL;
}

static bool find_route(struct http_call *call, const struct path_row *row) {
    struct visit *visit = call->context;
    bool get = strcmp(call->method, "GET") == 0 || strcmp(call->method, "HEAD") == 0;
    bool post = strcmp(call->method, "POST") == 0;
    enum route route = get ? row->get : post ? row->post : ROUTE_UNKNOWN;
    if (route != ROUTE_UNKNOWN) {
        visit->route = route;
        return true;
    }
    bool gets = row->get != ROUTE_UNKNOWN, posts = row->post != ROUTE_UNKNOWN;
    http_add_header(call, "Allow",
                    gets && posts ? "GET, HEAD, POST"
                    : gets        ? "GET, HEAD"
                                  : "POST");
    serve_error(call, 405, "bad_method", "this address does not answer %.20s",
                call->method);
    return false;
}

/* Two ways of telling where the body ends invite two readings of it. */
static bool check_framing(struct http_call *call) {
    const char *encoding = http_header(call, "Transfer-Encoding");
    const char *compressed = http_header(call, "Content-Encoding");
    bool framed =
        !encoding || (strcasecmp(encoding, "chunked") == 0 && !call->has_length);
    if (!framed || http_header_count(call, "Transfer-Encoding") > 1 ||
        http_header_count(call, "Content-Length") > 1) {
        serve_error(call, 400, "bad_request",
                    "send Content-Length or Transfer-Encoding: chunked, once");
    } else if (compressed && strcasecmp(compressed, "identity") != 0) {
        serve_error(call, 415, "bad_type", "compressed bodies are not read");
    } else {
        return true;
    }
    http_close_after(call);
    return false;
}

/* The time depends on what was sent, not on how much of it is right. */
static bool same_key(const char *key, const char *sent) {
    size_t key_size = strlen(key), sent_size = strlen(sent);
    size_t difference = key_size ^ sent_size;
    for (size_t i = 0; i < sent_size; i++)
        difference |= (size_t)(unsigned char)(sent[i] ^ key[key_size ? i % key_size : 0]);
    return difference == 0;
}

static bool check_key(const struct serve *serve, struct http_call *call) {
    const char *header = http_header(call, "Authorization");
    if (!serve->options.api_key || (header && strncasecmp(header, "Bearer ", 7) == 0 &&
                                    same_key(serve->options.api_key, header + 7)))
        return true;
    http_add_header(call, "WWW-Authenticate", "Bearer");
    serve_error(call, 401, "unauthorized", "send Authorization: Bearer with the key");
    return false;
}

static void refuse_size(struct http_call *call) {
    serve_error(call, 413, "too_large", "the body is larger than %zu bytes",
                call->body_limit);
}

static bool check_size(struct http_call *call) {
    if (!call->has_length || call->length <= call->body_limit)
        return true;
    refuse_size(call);
    return false;
}

static bool admit_upload(struct serve *serve, struct http_call *call) {
    struct visit *visit = call->context;
    visit->uploads = true;
    if (atomic_fetch_add(&serve->uploads, 1) < SERVE_MOST_UPLOADS)
        return true;
    serve_busy(call, 503, "busy", "too many uploads at once");
    return false;
}

static void begin(void *arg, struct http_call *call) {
    struct serve *serve = arg;
    struct visit *visit = calloc(1, sizeof *visit);
    struct bert_error error;
    call->context = visit;
    if (!visit) {
        serve_error(call, 500, "internal", "out of memory");
        return;
    }
    visit->route = ROUTE_UNKNOWN;
    add_cors(serve, call);
    http_add_header(call, "X-Content-Type-Options", "nosniff");
    if (answer_preflight(serve, call)) {
        visit->route = ROUTE_PREFLIGHT;
        return;
    }
    if (target_parse(&call->target, call->raw_target, &error) != BERT_OK) {
        serve_error(call, 400, "bad_request", "%s", error.message);
        return;
    }
    const struct path_row *row = find_path(call->target.path);
    if (!row) {
        serve_error(call, 404, "not_found", "there is nothing at this address");
        return;
    }
    if (!find_route(call, row) || !check_framing(call) ||
        (!(row->open && visit->route == row->get) && !check_key(serve, call)))
        return;
    call->body_limit = visit->route == row->get      ? 64 << 10
                       : visit->route == ROUTE_BATCH ? serve->options.max_upload
                                                     : serve->options.max_body;
    call->least_rate = visit->route == ROUTE_BATCH ? SERVE_LEAST_RATE : 0;
    if (check_size(call) && visit->route == ROUTE_BATCH)
        admit_upload(serve, call);
}

/* ---- Plain answers ----------------------------------------------------------------- */

static void answer_page(struct http_call *call) {
    struct buffer body = {0};
    char policy[400];
    if (!page_put(&body, policy, sizeof policy)) {
        buffer_release(&body);
        serve_error(call, 500, "internal", "the page cannot be made");
        return;
    }
    http_add_header(call, "Content-Security-Policy", policy);
    http_add_header(call, "Referrer-Policy", "no-referrer");
    http_add_header(call, "Cross-Origin-Opener-Policy", "same-origin");
    http_add_header(call, "Cache-Control", "no-store"); /* the nonce is used once */
    http_answer(call, 200, "text/html; charset=utf-8", &body);
}

static void answer_openapi(struct http_call *call) {
    struct span text = page_openapi();
    struct buffer body = {0};
    buffer_add(&body, text.data, text.size);
    http_answer(call, 200, "application/yaml", &body);
}

static void answer_health(struct serve *serve, struct http_call *call) {
    struct served_model *model = serve_model(serve);
    bool draining = atomic_load(&serve->draining);
    struct buffer body = {0};
    buffer_printf(&body, "{\"status\":\"%s\"}",
                  draining ? "stopping"
                  : model  ? "ready"
                           : "loading");
    http_answer(call, model && !draining ? 200 : 503, "application/json", &body);
    served_model_drop(model);
}

static void put_member(struct buffer *out, const char *name, const char *value) {
    buffer_printf(out, ",\"%s\":", name);
    if (value)
        json_put_text(out, value, strlen(value));
    else
        buffer_add_text(out, "null");
}

static void answer_version(struct serve *serve, struct http_call *call) {
    struct served_model *model = serve_model(serve);
    struct buffer body = {0};
    buffer_add_text(&body, "{\"name\":\"bert-serve\"");
    put_member(&body, "version", serve->options.version);
    if (model) {
        const struct bert_info *info = &model->info;
        put_member(&body, "model", info->name);
        put_member(&body, "precision", precision_name(info->precision));
        put_member(&body, "device", info->device);
        put_member(&body, "kernel", info->kernel);
        buffer_printf(&body,
                      ",\"layers\":%d,\"hidden\":%d,\"vocabulary\":%d,\"positions\":%d",
                      info->layers, info->hidden, info->vocabulary, info->positions);
    }
    buffer_add_byte(&body, '}');
    http_answer(call, 200, "application/json", &body);
    served_model_drop(model);
}

static void answer_metrics(struct serve *serve, struct http_call *call) {
    struct served_model *model = serve_model(serve);
    struct metrics_gauges gauges = {.queued = batcher_waiting(serve->batcher),
                                    .calls = http_calls(serve->http),
                                    .cache_entries = cache_count(serve->cache),
                                    .ready = model != NULL,
                                    .uptime = clock_seconds() - serve->started};
    if (model) {
        gauges.model = model->info.name;
        gauges.precision = precision_name(model->info.precision);
        gauges.device = model->info.device;
    }
    struct buffer body = {0};
    metrics_put(&serve->metrics, serve_route_names, &gauges, &body);
    http_answer(call, 200, "text/plain; version=0.0.4; charset=utf-8", &body);
    served_model_drop(model);
}

static void handle(void *arg, struct http_call *call) {
    struct serve *serve = arg;
    struct visit *visit = call->context;
    if (call->body_too_large) {
        http_close_after(call);
        refuse_size(call);
        return;
    }
    switch ((enum route)visit->route) {
    case ROUTE_PAGE:
        answer_page(call);
        return;
    case ROUTE_FILL_MASK:
    case ROUTE_MODELS:
        inquiry_start(serve, call, INQUIRY_FILL_MASK);
        return;
    case ROUTE_PREDICT:
        inquiry_start(serve, call, INQUIRY_PREDICT);
        return;
    case ROUTE_API_PREDICT:
        inquiry_start(serve, call, INQUIRY_API_PREDICT);
        return;
    case ROUTE_BATCH:
        upload_start(serve, call);
        return;
    case ROUTE_HEALTH:
        answer_health(serve, call);
        return;
    case ROUTE_METRICS:
        answer_metrics(serve, call);
        return;
    case ROUTE_VERSION:
        answer_version(serve, call);
        return;
    case ROUTE_OPENAPI:
        answer_openapi(call);
        return;
    case ROUTE_PREFLIGHT:
    case ROUTE_UNKNOWN:
        break;
    }
    serve_error(call, 404, "not_found", "there is nothing at this address");
}

static void finish(void *arg, struct http_call *call, bool complete) {
    struct serve *serve = arg;
    struct visit *visit = call->context;
    double seconds = clock_seconds() - call->started;
    size_t route = visit ? visit->route : ROUTE_UNKNOWN;
    struct access_entry entry = {
        .peer = call->peer,
        .method = call->method,
        .status = call->status,
        .complete = complete,
        .received = call->received,
        .sent = call->sent,
        .seconds = seconds,
        .path = {call->raw_target.data, strcspn(call->raw_target.data, "?")}};
    if (visit) {
        entry.model_part = visit->work[0] ? visit->work : NULL;
        entry.text = (struct span){visit->text.data, visit->text.size};
    }
    metrics_request(&serve->metrics, route, call->status, seconds);
    access_log_entry(serve->log, &entry);
    if (!visit)
        return;
    if (visit->uploads)
        atomic_fetch_sub(&serve->uploads, 1);
    if (visit->release)
        visit->release(visit->inquiry);
    buffer_release(&visit->text);
    free(visit);
}

struct http_hooks serve_hooks(struct serve *serve) {
    return (struct http_hooks){begin, handle, finish, serve};
}
