/* SPDX-License-Identifier: MIT
 *
 * metrics.c: the limits of the buckets suit answers from the cache (under a millisecond)
 * up to a batch of long texts on a slow machine. */
#include "service/metrics.h"

static const double time_limits[METRICS_TIMES] = {
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};
static const double size_limits[METRICS_SIZES] = {1, 2, 3, 4, 5, 6, 7, 8, 16};

/* Every status that the server answers with; the last stands for all others. */
static const unsigned statuses[METRICS_STATUSES] = {200, 204, 304, 400, 401, 403, 404,
                                                    405, 406, 408, 411, 413, 415, 417,
                                                    422, 429, 500, 501, 503, 0};

static void observe(struct metrics_histogram *histogram, const double *limits,
                    size_t count, double value, double scale) {
    size_t bucket = 0;
    while (bucket < count && value > limits[bucket])
        bucket++;
    atomic_fetch_add(&histogram->buckets[bucket], 1);
    atomic_fetch_add(&histogram->count, 1);
    atomic_fetch_add(&histogram->sum, (uint_least64_t)(value * scale));
}

void metrics_request(struct metrics *metrics, size_t route, unsigned status,
                     double seconds) {
    size_t column = 0;
    while (column + 1 < METRICS_STATUSES && statuses[column] != status)
        column++;
    atomic_fetch_add(&metrics->requests[route][column], 1);
    observe(&metrics->latency, time_limits, METRICS_TIMES, seconds, 1e6);
}

void metrics_batch(struct metrics *metrics, size_t texts, size_t tokens, double seconds) {
    observe(&metrics->batch_size, size_limits, METRICS_SIZES, (double)texts, 1);
    observe(&metrics->batch_time, time_limits, METRICS_TIMES, seconds, 1e6);
    atomic_fetch_add(&metrics->texts, texts);
    atomic_fetch_add(&metrics->tokens, tokens);
}

static void put_head(struct buffer *out, const char *name, const char *type,
                     const char *help) {
    buffer_printf(out, "# HELP bert_serve_%s %s\n# TYPE bert_serve_%s %s\n", name, help,
                  name, type);
}

static void put_number(struct buffer *out, const char *name, const char *type,
                       const char *help, double value) {
    put_head(out, name, type, help);
    buffer_printf(out, "bert_serve_%s %.15g\n", name, value);
}

static void put_histogram(struct buffer *out, const char *name, const char *help,
                          const struct metrics_histogram *histogram, const double *limits,
                          size_t count, double scale) {
    unsigned long long total = 0;
    put_head(out, name, "histogram", help);
    for (size_t i = 0; i < count; i++) {
        total += atomic_load(&histogram->buckets[i]);
        buffer_printf(out, "bert_serve_%s_bucket{le=\"%g\"} %llu\n", name, limits[i],
                      total);
    }
    total += atomic_load(&histogram->buckets[count]);
    buffer_printf(out, "bert_serve_%s_bucket{le=\"+Inf\"} %llu\n", name, total);
    buffer_printf(out, "bert_serve_%s_sum %.15g\n", name,
                  (double)atomic_load(&histogram->sum) / scale);
    buffer_printf(out, "bert_serve_%s_count %llu\n", name, total);
}

static void put_requests(struct buffer *out, const struct metrics *metrics,
                         const char *const *route_names) {
    put_head(out, "requests_total", "counter", "Requests answered, by route and status.");
    for (size_t r = 0; r < METRICS_ROUTES; r++) {
        for (size_t s = 0; s < METRICS_STATUSES; s++) {
            unsigned long long count = atomic_load(&metrics->requests[r][s]);
            if (count && route_names[r])
                buffer_printf(
                    out, "bert_serve_requests_total{route=\"%s\",status=\"%u\"} %llu\n",
                    route_names[r], statuses[s], count);
        }
    }
}

/* Quotes and backslashes are the only characters that a label must escape here: names of
 * models have no line breaks. */
static void put_label(struct buffer *out, const char *name, const char *value) {
    buffer_printf(out, "%s=\"", name);
    for (const char *at = value ? value : ""; *at; at++) {
        if (*at == '"' || *at == '\\')
            buffer_add_byte(out, '\\');
        buffer_add_byte(out, *at == '\n' ? ' ' : *at);
    }
    buffer_add_byte(out, '"');
}

void metrics_put(const struct metrics *metrics, const char *const *route_names,
                 const struct metrics_gauges *gauges, struct buffer *out) {
    put_requests(out, metrics, route_names);
    put_histogram(out, "request_duration_seconds",
                  "From the first header to the last byte.", &metrics->latency,
                  time_limits, METRICS_TIMES, 1e6);
    put_histogram(out, "batch_size", "Texts in one pass of the model.",
                  &metrics->batch_size, size_limits, METRICS_SIZES, 1);
    put_histogram(out, "batch_duration_seconds", "Time of one pass of the model.",
                  &metrics->batch_time, time_limits, METRICS_TIMES, 1e6);
    put_number(out, "texts_total", "counter", "Texts that the model read.",
               (double)atomic_load(&metrics->texts));
    put_number(out, "tokens_total", "counter", "Tokens that the model read.",
               (double)atomic_load(&metrics->tokens));
    put_number(out, "cache_hits_total", "counter", "Texts answered from the cache.",
               (double)atomic_load(&metrics->cache_hits));
    put_number(out, "cache_misses_total", "counter", "Texts that were not in the cache.",
               (double)atomic_load(&metrics->cache_misses));
    put_number(out, "cache_entries", "gauge", "Answers in the cache.",
               (double)gauges->cache_entries);
    put_number(out, "queue_length", "gauge", "Texts that wait for the model.",
               (double)gauges->queued);
    put_number(out, "requests_in_progress", "gauge",
               "Requests that are not answered yet.", (double)gauges->calls);
    put_number(out, "reloads_total", "counter", "Models loaded after the first.",
               (double)atomic_load(&metrics->reloads));
    put_number(out, "reload_failures_total", "counter",
               "Models that could not be loaded.",
               (double)atomic_load(&metrics->reload_failures));
    put_number(out, "ready", "gauge", "1 when a model is loaded.", gauges->ready);
    put_number(out, "uptime_seconds", "gauge", "Seconds since the start.",
               gauges->uptime);
    if (!gauges->ready)
        return;
    put_head(out, "model_info", "gauge", "The model being served.");
    buffer_add_text(out, "bert_serve_model_info{");
    put_label(out, "model", gauges->model);
    put_label(out, ",precision", gauges->precision);
    put_label(out, ",device", gauges->device);
    buffer_add_text(out, "} 1\n");
}
