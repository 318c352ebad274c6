/* SPDX-License-Identifier: MIT
 *
 * test_pool.c: every item is done once, whatever the threads, counts and grains; phases
 * follow each other safely; a worker that is held up delays its own piece alone. */
#include "base/pool.h"

#include <check.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

enum { ITEMS = 1000 };

struct count {
    atomic_int done[ITEMS];
    size_t grain, count;
    int threads;
    atomic_int bad;
};

static void count_task(void *arg, size_t begin, size_t end, int worker) {
    struct count *c = arg;
    if (begin % c->grain != 0 || end > c->count || begin >= end || worker < 0 ||
        worker >= c->threads)
        atomic_fetch_add(&c->bad, 1);
    for (size_t i = begin; i < end && i < ITEMS; i++)
        atomic_fetch_add(&c->done[i], 1);
}

static void check_phase(struct pool *pool, size_t count, size_t grain) {
    struct count c = {.grain = grain, .count = count, .threads = pool_threads(pool)};
    pool_run(pool, count, grain, count_task, &c);
    ck_assert_int_eq(c.bad, 0);
    for (size_t i = 0; i < ITEMS; i++)
        ck_assert_int_eq(c.done[i], i < count);
}

START_TEST(test_each_item_once) {
    static const size_t counts[] = {0, 1, 2, 3, 31, 32, 33, 97, 999, 1000};
    static const size_t grains[] = {1, 2, 7, 32, 1000, SIZE_MAX};
    check_phase(NULL, 100, 7);
    for (int threads = 0; threads <= 5; threads++) {
        struct pool *pool;
        ck_assert_int_eq(pool_new(&pool, threads, NULL), BERT_OK);
        ck_assert_int_eq(pool_threads(pool), threads < 1 ? 1 : threads);
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
            for (size_t j = 0; j < sizeof grains / sizeof *grains; j++)
                check_phase(pool, counts[i], grains[j]);
        pool_free(pool);
    }
}
END_TEST

static void plain_task(void *arg, size_t begin, size_t end, int worker) {
    for (size_t i = begin; i < end; i++)
        ((uint32_t *)arg)[i]++; /* not atomic: a phase must see the one before it */
}

START_TEST(test_many_phases) {
    struct pool *pool;
    ck_assert_int_eq(pool_new(&pool, 3, NULL), BERT_OK);
    static uint32_t sums[ITEMS];
    enum { PHASES = 3000 };
    for (size_t phase = 0; phase < PHASES; phase++) {
        if (phase % 1000 == 999)
            usleep(2000); /* so that the workers sleep */
        pool_run(pool, ITEMS - phase % 7, 1 + phase % 90, plain_task, sums);
    }
    for (size_t i = 0; i < ITEMS - 7; i++)
        ck_assert_uint_eq(sums[i], PHASES);
    pool_free(pool);
}
END_TEST

struct held {
    atomic_int others;
    int wanted, timed_out;
};

/* The first item of worker 1's share waits until every other item is done. */
static void held_task(void *arg, size_t begin, size_t end, int worker) {
    struct held *held = arg;
    if (begin != (size_t)held->wanted / 2 + 1) {
        atomic_fetch_add(&held->others, 1);
        return;
    }
    time_t start = time(NULL);
    while (atomic_load(&held->others) < held->wanted && time(NULL) - start < 60)
        usleep(100);
    held->timed_out = atomic_load(&held->others) < held->wanted;
}

START_TEST(test_a_held_worker_costs_one_piece) {
    struct pool *pool;
    ck_assert_int_eq(pool_new(&pool, 2, NULL), BERT_OK);
    for (int i = 0; i < 20; i++) {
        struct held held = {.wanted = 99};
        pool_run(pool, 100, 1, held_task, &held);
        ck_assert_int_eq(held.timed_out, 0);
        ck_assert_int_eq(held.others, 99);
    }
    pool_free(pool);
}
END_TEST

struct spent {
    atomic_long sink;
    long loops;
};

static void spend_task(void *arg, size_t begin, size_t end, int worker) {
    struct spent *s = arg;
    for (size_t i = begin; i < end; i++)
        for (volatile long n = 0; n < s->loops; n++)
            ;
}

static double phases_seconds(struct pool *pool) {
    struct spent spent = {.loops = 2000};
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int i = 0; i < 200; i++)
        pool_run(pool, 64, 1, spend_task, &spent);
    clock_gettime(CLOCK_MONOTONIC, &b);
    return (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) * 1e-9;
}

/* More threads than cores: the threads without a core must not hold up the rest. One good
 * run in several is enough, since the machine may be busy with something else. */
START_TEST(test_too_many_threads_cost_less_than_twice) {
    struct pool *one, *many;
    ck_assert_int_eq(pool_new(&one, 1, NULL), BERT_OK);
    ck_assert_int_eq(pool_new(&many, 1 + (int)sysconf(_SC_NPROCESSORS_ONLN), NULL),
                     BERT_OK);
    double best = 1e9;
    for (int i = 0; i < 8 && best > 2; i++) {
        double ratio = phases_seconds(many) / phases_seconds(one);
        best = ratio < best ? ratio : best;
    }
    ck_assert_double_le(best, 2);
    pool_free(many);
    pool_free(one);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("pool");
    TCase *tests = tcase_create("pool");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, test_each_item_once);
    tcase_add_test(tests, test_many_phases);
    tcase_add_test(tests, test_a_held_worker_costs_one_piece);
    tcase_add_test(tests, test_too_many_threads_cost_less_than_twice);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
