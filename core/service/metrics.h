/* SPDX-License-Identifier: MIT
 *
 * metrics.h: what the server has done, counted without locks, and shown in the text
 * format that Prometheus reads. Names begin with bert_serve_ and are a promise. */
#ifndef SERVICE_METRICS_H
#define SERVICE_METRICS_H

#include "base/bytes.h"

#include <stdatomic.h>

enum {
    METRICS_ROUTES = 16,
    METRICS_STATUSES = 20,
    METRICS_TIMES = 14,
    METRICS_SIZES = 9,
};

struct metrics_histogram {
    atomic_uint_least64_t buckets[METRICS_TIMES + 1]; /* the last: beyond all limits */
    atomic_uint_least64_t count, sum; /* sum in units of the histogram's scale */
};

struct metrics { /* zero-initialised is empty */
    atomic_uint_least64_t requests[METRICS_ROUTES][METRICS_STATUSES];
    struct metrics_histogram latency;    /* seconds, summed in microseconds */
    struct metrics_histogram batch_size; /* texts */
    struct metrics_histogram batch_time; /* seconds */
    atomic_uint_least64_t tokens, texts, cache_hits, cache_misses, reloads,
        reload_failures;
};

struct metrics_gauges { /* read at the time of the showing */
    size_t queued, calls, cache_entries;
    bool ready;
    double uptime;
    const char *model, *precision, *device;
};

void metrics_request(struct metrics *metrics, size_t route, unsigned status,
                     double seconds);
void metrics_batch(struct metrics *metrics, size_t texts, size_t tokens, double seconds);

/* route_names: METRICS_ROUTES strings, NULL where unused. */
void metrics_put(const struct metrics *metrics, const char *const *route_names,
                 const struct metrics_gauges *gauges, struct buffer *out);

#endif
