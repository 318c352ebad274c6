/* SPDX-License-Identifier: MIT
 *
 * pool.c: a phase is a descriptor and, for each worker, a share of its pieces packed in
 * one 64-bit word (next, end). An owner takes from the front, a helper from the back,
 * both by compare-and-swap. A claimed piece keeps its phase alive, and only after a claim
 * is the descriptor read, so a worker that comes late, even from an earlier phase, never
 * sees a stale one. Nobody waits for a worker, only for pieces: a core that is busy
 * elsewhere delays a phase by one piece at most, and whoever waits longer than the spin
 * sleeps, which leaves its core to the one waited for. */
#include "base/pool.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { SPIN_NANOSECONDS = 100000, LINE = 64 };

struct share {
    _Alignas(LINE) _Atomic uint64_t pieces; /* next | end << 32 */
};

struct pool {
    /* What idle workers watch. */
    _Alignas(LINE) _Atomic uint32_t phase;
    atomic_bool stop;
    atomic_int sleepers;
    /* What the caller watches: pieces not yet done. */
    _Alignas(LINE) _Atomic uint64_t left;
    atomic_bool caller_sleeps;
    /* The descriptor. */
    _Alignas(LINE) pool_task *task;
    void *arg;
    size_t count, grain;

    _Alignas(LINE) pthread_mutex_t mutex;
    pthread_cond_t work, done;
    int threads;
    pthread_t *handles;
    struct share *shares;
};

struct start { /* what a new thread is told */
    struct pool *pool;
    int worker;
};

static inline void relax(void) {
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ __volatile__("isb");
#endif
}

struct spin {
    unsigned turns;
    uint64_t until;
};

/* One turn; false when the time is up. */
static bool spin_turn(struct spin *spin) {
    relax();
    if (spin->turns++ % 64 != 0)
        return true;
    uint64_t now = clock_nanoseconds();
    if (spin->until == 0)
        spin->until = now + SPIN_NANOSECONDS;
    return now < spin->until;
}

static bool claim(struct share *share, bool owner, uint32_t *piece) {
    uint64_t seen = atomic_load_explicit(&share->pieces, memory_order_relaxed), wanted;
    do {
        uint32_t next = (uint32_t)seen, end = (uint32_t)(seen >> 32);
        if (next >= end)
            return false;
        *piece = owner ? next++ : --end;
        wanted = next | (uint64_t)end << 32;
    } while (!atomic_compare_exchange_weak_explicit(
        &share->pieces, &seen, wanted, memory_order_acquire, memory_order_relaxed));
    return true;
}

/* Takes pieces, own first, until there are none. */
static void work(struct pool *pool, int self) {
    uint64_t finished = 0;
    for (int i = 0; i < pool->threads; i++) {
        int owner = (self + i) % pool->threads;
        uint32_t piece;
        while (claim(&pool->shares[owner], i == 0, &piece)) {
            size_t begin = piece * pool->grain, end = begin + pool->grain;
            pool->task(pool->arg, begin, end < pool->count ? end : pool->count, self);
            finished++;
        }
    }
    if (finished > 0 && atomic_fetch_sub(&pool->left, finished) == finished &&
        atomic_load(&pool->caller_sleeps)) {
        pthread_mutex_lock(&pool->mutex);
        pthread_cond_signal(&pool->done);
        pthread_mutex_unlock(&pool->mutex);
    }
}

/* Returns when the phase is no longer seen. */
static void await_phase(struct pool *pool, uint32_t seen) {
    struct spin spin = {0};
    do {
        if (atomic_load_explicit(&pool->phase, memory_order_acquire) != seen)
            return;
    } while (spin_turn(&spin));
    pthread_mutex_lock(&pool->mutex);
    atomic_fetch_add(&pool->sleepers, 1);
    while (atomic_load(&pool->phase) == seen)
        pthread_cond_wait(&pool->work, &pool->mutex);
    atomic_fetch_sub(&pool->sleepers, 1);
    pthread_mutex_unlock(&pool->mutex);
}

static void announce_phase(struct pool *pool) {
    atomic_fetch_add(&pool->phase, 1);
    if (atomic_load(&pool->sleepers) > 0) {
        pthread_mutex_lock(&pool->mutex);
        pthread_cond_broadcast(&pool->work);
        pthread_mutex_unlock(&pool->mutex);
    }
}

static void await_pieces(struct pool *pool) {
    struct spin spin = {0};
    do {
        if (atomic_load(&pool->left) == 0)
            return;
    } while (spin_turn(&spin));
    pthread_mutex_lock(&pool->mutex);
    atomic_store(&pool->caller_sleeps, true);
    while (atomic_load(&pool->left) > 0)
        pthread_cond_wait(&pool->done, &pool->mutex);
    atomic_store(&pool->caller_sleeps, false);
    pthread_mutex_unlock(&pool->mutex);
}

static void *worker_main(void *arg) {
    struct start start = *(struct start *)arg;
    free(arg);
    uint32_t seen = 0;
    for (;;) {
        await_phase(start.pool, seen);
        seen = atomic_load(&start.pool->phase);
        if (atomic_load(&start.pool->stop))
            return NULL;
        work(start.pool, start.worker);
    }
}

static bool start_worker(struct pool *pool, int worker) {
    struct start *start = malloc(sizeof *start);
    if (start == NULL)
        return false;
    *start = (struct start){pool, worker};
    if (pthread_create(&pool->handles[worker], NULL, worker_main, start) == 0)
        return true;
    free(start);
    return false;
}

static void *lines_alloc(size_t size) {
    size_t whole = (size + LINE - 1) / LINE * LINE;
    void *memory = aligned_alloc(LINE, whole);
    if (memory != NULL)
        memset(memory, 0, whole);
    return memory;
}

enum bert_status pool_new(struct pool **result, int threads, struct bert_error *error) {
    struct pool *pool = lines_alloc(sizeof *pool);
    if (pool == NULL)
        return error_memory(error);
    if (threads < 1)
        threads = 1;
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->done, NULL);
    pool->threads = 1;
    pool->handles = calloc((size_t)threads, sizeof *pool->handles);
    pool->shares = lines_alloc((size_t)threads * sizeof *pool->shares);
    if (pool->handles == NULL || pool->shares == NULL) {
        pool_free(pool);
        return error_memory(error);
    }
    /* Workers look at threads only within a phase, which comes after all have started. */
    int started = 1;
    while (started < threads && start_worker(pool, started))
        started++;
    pool->threads = started;
    if (started < threads) {
        pool_free(pool);
        return error_set(error, BERT_INTERNAL, "cannot start %d threads", threads);
    }
    *result = pool;
    return BERT_OK;
}

void pool_free(struct pool *pool) {
    if (pool == NULL)
        return;
    atomic_store(&pool->stop, true);
    announce_phase(pool);
    for (int i = 1; i < pool->threads; i++)
        pthread_join(pool->handles[i], NULL);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->mutex);
    free(pool->handles);
    free(pool->shares);
    free(pool);
}

int pool_threads(const struct pool *pool) {
    return pool == NULL ? 1 : pool->threads;
}

void pool_run(struct pool *pool, size_t count, size_t grain, pool_task *task, void *arg) {
    if (count == 0)
        return;
    if (pool == NULL || pool->threads == 1 || count <= grain) {
        task(arg, 0, count, 0);
        return;
    }
    size_t pieces = (count - 1) / grain + 1;
    for (; pieces > UINT32_MAX; grain *= 2)
        pieces = (count - 1) / (2 * grain) + 1;
    pool->task = task;
    pool->arg = arg;
    pool->count = count;
    pool->grain = grain;
    atomic_store_explicit(&pool->left, pieces, memory_order_relaxed);
    size_t threads = (size_t)pool->threads, next = 0;
    for (size_t i = 0; i < threads; i++) {
        size_t end = pieces / threads * (i + 1) + pieces % threads * (i + 1) / threads;
        atomic_store_explicit(&pool->shares[i].pieces, next | (uint64_t)end << 32,
                              memory_order_release);
        next = end;
    }
    announce_phase(pool);
    work(pool, 0);
    await_pieces(pool);
}
