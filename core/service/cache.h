/* SPDX-License-Identifier: MIT
 *
 * cache.h: the last N outcomes by key, the least recently used leaving first. All
 * functions may be called from any thread. */
#ifndef SERVICE_CACHE_H
#define SERVICE_CACHE_H

#include "base/status.h"
#include "service/outcome.h"

enum { CACHE_MOST_KEY = 64 << 10 }; /* bytes; a larger one is not kept */

struct cache;

/* entries 0: a cache that keeps nothing. */
enum bert_status cache_new(struct cache **cache, size_t entries,
                           struct bert_error *error);
void cache_free(struct cache *cache);

/* The outcome kept under key, with one user more (outcome_drop is the caller's), or NULL.
 */
struct outcome *cache_get(struct cache *cache, struct span key);
/* Keeps outcome under a copy of key, in place of what was there. Does nothing without
 * memory: a cache may forget. */
void cache_put(struct cache *cache, struct span key, struct outcome *outcome);
void cache_clear(struct cache *cache);
size_t cache_count(struct cache *cache);

#endif
