/* SPDX-License-Identifier: MIT
 *
 * test_nn_topk.c: the best of many scores against a plain sort: ties, bit maps, k from
 * one to all. */
#include "nn/topk.h"

#include <check.h>
#include <stdbool.h>

enum { MOST = 1000 };

static uint32_t state = 1;
static uint32_t next_random(void) {
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

static int compare(const void *a, const void *b) {
    const struct scored *x = a, *y = b;
    if (x->log_probability != y->log_probability)
        return x->log_probability > y->log_probability ? -1 : 1;
    return x->id < y->id ? -1 : 1;
}

static void check_one(size_t n, int k, unsigned levels, bool filtered) {
    static float scores[MOST];
    static uint64_t allowed[(MOST + 63) / 64];
    static struct scored sorted[MOST], best[MOST + 1];
    int wanted = 0;
    memset(allowed, 0, sizeof allowed);
    for (size_t i = 0; i < n; i++) {
        scores[i] = (float)(next_random() % levels) - (float)levels / 2;
        if (filtered && next_random() % 8 != 0)
            continue;
        allowed[i / 64] |= (uint64_t)1 << (i % 64);
        sorted[wanted++] = (struct scored){(int32_t)i, scores[i]};
    }
    qsort(sorted, (size_t)wanted, sizeof *sorted, compare);
    if (wanted > k)
        wanted = k;
    best[k].id = -1;
    int count = topk_select(kernel_select("reference"), scores, n,
                            filtered ? allowed : NULL, k, best);
    ck_assert_int_eq(count, wanted);
    for (int i = 0; i < count; i++) {
        ck_assert_int_eq(best[i].id, sorted[i].id);
        ck_assert(best[i].log_probability == sorted[i].log_probability);
    }
    ck_assert_int_eq(best[k].id, -1); /* nothing written behind the room */
}

/* F15: equal scores come by rising id. */
START_TEST(test_like_a_sort) {
    static const size_t sizes[] = {1, 2, 63, 64, 65, 127, 500, 1000};
    static const unsigned levels[] = {1, 2, 5, 100, 1u << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t j = 0; j < sizeof levels / sizeof *levels; j++)
            for (int k = 0; k <= (int)sizes[i]; k = k < 7 ? k + 1 : k * 2) {
                check_one(sizes[i], k, levels[j], false);
                check_one(sizes[i], k, levels[j], true);
            }
    check_one(MOST, MOST, 3, false);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("nn_topk");
    TCase *tests = tcase_create("nn_topk");
    tcase_add_test(tests, test_like_a_sort);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
