/* SPDX-License-Identifier: MIT
 *
 * cache.c: chained hash buckets, and a ring through all entries whose front is the one
 * used last. */
#include "service/cache.h"

#include <pthread.h>

struct entry {
    struct entry *newer, *older; /* the ring */
    struct entry *chain;
    struct outcome *outcome;
    uint64_t hash;
    size_t key_size;
    char key[];
};

struct cache {
    pthread_mutex_t lock;
    struct entry *ends[2]; /* newest, oldest */
    struct entry **buckets;
    size_t bucket_count, count, most;
};

enum { NEWEST, OLDEST };

enum bert_status cache_new(struct cache **cache, size_t entries,
                           struct bert_error *error) {
    struct cache *made = calloc(1, sizeof *made);
    if (!made)
        return error_memory(error);
    made->most = entries;
    made->bucket_count = 16;
    while (made->bucket_count < entries)
        made->bucket_count *= 2;
    made->buckets = calloc(made->bucket_count, sizeof *made->buckets);
    if (!made->buckets) {
        free(made);
        return error_memory(error);
    }
    pthread_mutex_init(&made->lock, NULL);
    *cache = made;
    return BERT_OK;
}

void cache_free(struct cache *cache) {
    if (!cache)
        return;
    cache_clear(cache);
    pthread_mutex_destroy(&cache->lock);
    free(cache->buckets);
    free(cache);
}

/* The link that leads to the entry, or to the end of its chain. */
static struct entry **find(struct cache *cache, struct span key, uint64_t hash) {
    struct entry **link = &cache->buckets[hash & (cache->bucket_count - 1)];
    while (*link && ((*link)->hash != hash ||
                     !span_equal(key, (struct span){(*link)->key, (*link)->key_size})))
        link = &(*link)->chain;
    return link;
}

static void unlink_from_ring(struct cache *cache, struct entry *entry) {
    *(entry->newer ? &entry->newer->older : &cache->ends[NEWEST]) = entry->older;
    *(entry->older ? &entry->older->newer : &cache->ends[OLDEST]) = entry->newer;
}

static void put_in_front(struct cache *cache, struct entry *entry) {
    entry->newer = NULL;
    entry->older = cache->ends[NEWEST];
    *(entry->older ? &entry->older->newer : &cache->ends[OLDEST]) = entry;
    cache->ends[NEWEST] = entry;
}

static void remove_at(struct cache *cache, struct entry **link) {
    struct entry *entry = *link;
    *link = entry->chain;
    unlink_from_ring(cache, entry);
    cache->count--;
    outcome_drop(entry->outcome);
    free(entry);
}

static void remove_oldest(struct cache *cache) {
    struct entry *oldest = cache->ends[OLDEST];
    remove_at(cache,
              find(cache, (struct span){oldest->key, oldest->key_size}, oldest->hash));
}

struct outcome *cache_get(struct cache *cache, struct span key) {
    uint64_t hash = hash_bytes(HASH_SEED, key.data, key.size);
    struct outcome *outcome = NULL;
    pthread_mutex_lock(&cache->lock);
    struct entry *entry = *find(cache, key, hash);
    if (entry) {
        unlink_from_ring(cache, entry);
        put_in_front(cache, entry);
        outcome = outcome_use(entry->outcome);
    }
    pthread_mutex_unlock(&cache->lock);
    return outcome;
}

void cache_put(struct cache *cache, struct span key, struct outcome *outcome) {
    if (cache->most == 0 || key.size > CACHE_MOST_KEY)
        return;
    struct entry *entry = malloc(sizeof *entry + key.size);
    if (!entry)
        return;
    *entry = (struct entry){.outcome = outcome_use(outcome), .key_size = key.size};
    entry->hash = hash_bytes(HASH_SEED, key.data, key.size);
    memcpy(entry->key, key.data, key.size);
    pthread_mutex_lock(&cache->lock);
    struct entry **link = find(cache, key, entry->hash);
    if (*link)
        remove_at(cache, link);
    else if (cache->count == cache->most)
        remove_oldest(cache);
    link = find(cache, key, entry->hash);
    *link = entry;
    put_in_front(cache, entry);
    cache->count++;
    pthread_mutex_unlock(&cache->lock);
}

void cache_clear(struct cache *cache) {
    pthread_mutex_lock(&cache->lock);
    while (cache->count)
        remove_oldest(cache);
    pthread_mutex_unlock(&cache->lock);
}

size_t cache_count(struct cache *cache) {
    pthread_mutex_lock(&cache->lock);
    size_t count = cache->count;
    pthread_mutex_unlock(&cache->lock);
    return count;
}
