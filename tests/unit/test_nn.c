/* SPDX-License-Identifier: MIT
 *
 * test_nn.c: the forward pass against the golden answers of Hugging Face, and the
 * promises about bits: the same for any batch, any number of threads and any kernel
 * table. */
#include "io/json.h"
#include "kernel/kernel.h"
#include "model/loader.h"
#include "nn/backend.h"

#include <check.h>
#include <math.h>

#define TINY "tests/golden/tiny/"

enum { TEXTS = 200, MASKS = 8, LONGEST = 512 };

/* ---- Allocations are counted ------------------------------------------------------ */

#if defined __GLIBC__ && !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
#if defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define UNCOUNTED
#endif
#endif
#else
#define UNCOUNTED
#endif

#ifndef UNCOUNTED
static _Atomic size_t allocations;
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void *malloc(size_t size) {
    allocations++;
    return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
    allocations++;
    return __libc_calloc(count, size);
}
void *realloc(void *old, size_t size) {
    allocations++;
    return __libc_realloc(old, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
    allocations++;
    return __libc_memalign(alignment, size);
}
#endif

/* ---- The golden file --------------------------------------------------------------- */

struct text {
    const char *model;
    size_t count, masks;
    int32_t ids[LONGEST];
    size_t position[MASKS];
    int32_t top[MASKS][5];
    double probability[MASKS][5];
    const struct json
        *all[MASKS]; /* log probabilities of the whole vocabulary, or NULL */
};

static struct text texts[TEXTS];
static struct json *documents[TEXTS]; /* texts point into them */
static size_t text_count;

static int64_t whole(const struct json *value) {
    int64_t result;
    ck_assert(json_get_whole(value, &result));
    return result;
}

static double number(const struct json *value) {
    double result;
    ck_assert(json_get_number(value, &result));
    return result;
}

static void read_mask(struct text *text, size_t i, const struct json *mask) {
    text->position[i] = (size_t)whole(json_member(mask, "position"));
    text->all[i] = json_member(mask, "log_probabilities");
    const struct json *top = json_member(mask, "top");
    ck_assert_uint_eq(json_count(top), 5);
    for (size_t j = 0; j < 5; j++) {
        const struct json *item = json_item(top, j);
        text->top[i][j] = (int32_t)whole(json_member(item, "id"));
        text->probability[i][j] = number(json_member(item, "probability"));
    }
}

static void read_text(struct text *text, const struct json *line) {
    struct span model;
    ck_assert(json_get_text(json_member(line, "model"), &model));
    text->model = model.data;
    const struct json *ids = json_member(line, "ids"),
                      *masks = json_member(line, "masks");
    text->count = json_count(ids);
    text->masks = json_count(masks);
    ck_assert(text->count <= LONGEST && text->masks <= MASKS);
    for (size_t i = 0; i < text->count; i++)
        text->ids[i] = (int32_t)whole(json_item(ids, i));
    for (size_t i = 0; i < text->masks; i++)
        read_mask(text, i, json_item(masks, i));
}

static void read_texts(void) {
    FILE *file = fopen(TINY "expected.jsonl", "r");
    ck_assert_ptr_nonnull(file);
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    while ((length = getline(&line, &capacity, file)) > 0) {
        ck_assert_uint_lt(text_count, TEXTS);
        struct json **document = &documents[text_count];
        struct bert_error error;
        ck_assert_msg(json_parse(document, line, (size_t)length, 0, &error) == BERT_OK,
                      "%s", error.message);
        read_text(&texts[text_count++], *document);
    }
    free(line);
    fclose(file);
    ck_assert_uint_ge(text_count, 50);
}

static void free_texts(void) {
    for (size_t i = 0; i < text_count; i++)
        json_free(documents[i]);
}

/* ---- A model, a table and a worker ------------------------------------------------- */

struct setting {
    struct model_file *file;
    void *handle, *worker;
    size_t vocabulary;
    int32_t *every; /* all ids */
};

static struct setting setting_new(const char *model, enum bert_precision precision,
                                  const char *cpu, int threads) {
    struct setting s = {0};
    struct bert_error error;
    char path[200];
    const char *device;
    snprintf(path, sizeof path, TINY "%s", model);
    struct loader_options options = {.precision = precision};
    struct backend_options backend = {.cpu = cpu};
    ck_assert_msg(loader_open(&s.file, path, &options, &error) == BERT_OK, "%s",
                  error.message);
    const struct weights *weights = loader_weights(s.file);
    ck_assert_msg(backend_cpu.open(&s.handle, weights, &backend, &device, &error) ==
                      BERT_OK,
                  "%s", error.message);
    ck_assert(backend_cpu.worker_new(&s.worker, s.handle, threads, &error) == BERT_OK);
    s.vocabulary = (size_t)weights->config.vocabulary;
    s.every = malloc(s.vocabulary * sizeof *s.every);
    for (size_t i = 0; i < s.vocabulary; i++)
        s.every[i] = (int32_t)i;
    return s;
}

static void setting_free(struct setting *s) {
    backend_cpu.worker_free(s->worker);
    backend_cpu.close(s->handle);
    loader_close(s->file);
    free(s->every);
}

struct answers { /* of one text */
    struct scored best[MASKS][5];
    int best_count[MASKS];
    float *all; /* (masks, vocabulary) */
};

/* Several texts in one batch. */
static void run_batch(struct setting *s, struct text *const *batch_texts, size_t count,
                      struct answers *answers) {
    static int32_t ids[TEXTS * LONGEST];
    static size_t start[TEXTS + 1];
    static struct request requests[TEXTS * MASKS];
    static struct reply replies[TEXTS * MASKS];
    size_t rows = 0, asked = 0;
    for (size_t t = 0; t < count; t++) {
        const struct text *text = batch_texts[t];
        start[t] = rows;
        memcpy(ids + rows, text->ids, text->count * sizeof *ids);
        answers[t].all = malloc(text->masks * s->vocabulary * sizeof(float));
        for (size_t m = 0; m < text->masks; m++, asked++) {
            requests[asked] = (struct request){rows + text->position[m], 5, NULL,
                                               s->every, s->vocabulary};
            replies[asked] = (struct reply){answers[t].best[m], 0,
                                            answers[t].all + m * s->vocabulary, 0};
        }
        rows += text->count;
    }
    start[count] = rows;
    struct batch batch = {count, rows, ids, start};
    struct bert_error error;
    ck_assert_msg(backend_cpu.forward(s->worker, &batch, requests, asked, replies,
                                      &error) == BERT_OK,
                  "%s", error.message);
    for (size_t i = 0, t = 0, m = 0; i < asked; i++) {
        ck_assert(replies[i].finite);
        answers[t].best_count[m] = replies[i].best_count;
        if (++m == batch_texts[t]->masks)
            t++, m = 0;
    }
}

/* ---- Golden answers ---------------------------------------------------------------- */

static double check_golden_text(struct setting *s, struct text *text) {
    struct answers a;
    run_batch(s, &text, 1, &a);
    double worst = 0;
    for (size_t m = 0; m < text->masks; m++) {
        ck_assert_int_eq(a.best_count[m], 5);
        for (size_t j = 0; j < 5; j++) {
            ck_assert_int_eq(a.best[m][j].id, text->top[m][j]);
            double p = exp(a.best[m][j].log_probability);
            ck_assert_double_le(fabs(p - text->probability[m][j]), 1e-4);
            ck_assert(a.best[m][j].log_probability ==
                      a.all[m * s->vocabulary + (size_t)a.best[m][j].id]);
        }
        if (text->all[m] == NULL)
            continue;
        ck_assert_uint_eq(json_count(text->all[m]), s->vocabulary);
        for (size_t i = 0; i < s->vocabulary; i++)
            worst = fmax(worst, fabs(number(json_item(text->all[m], i)) -
                                     a.all[m * s->vocabulary + i]));
    }
    free(a.all);
    return worst;
}

/* A folder, and whose answers it must give. */
static const char *const golden_models[][2] = {{"f32", "f32"},
                                               {"untied", "untied"},
                                               {"bf16", "bf16"},
                                               {"f16", "f16"},
                                               {"sharded", "f32"}};

START_TEST(test_golden_answers) {
    const char *cpu;
    for (int t = 0; (cpu = kernel_name(t)) != NULL; t++) {
        if (kernel_select(cpu) == NULL)
            continue;
        struct setting s = setting_new(golden_models[_i][0], BERT_F32, cpu, 1 + t % 2);
        size_t met = 0;
        for (size_t i = 0; i < text_count; i++)
            if (strcmp(texts[i].model, golden_models[_i][1]) == 0) {
                ck_assert_double_le(check_golden_text(&s, &texts[i]), 2e-4);
                met++;
            }
        ck_assert_uint_ge(met, 10);
        setting_free(&s);
    }
}
END_TEST

/* ---- Bits -------------------------------------------------------------------------- */

static const enum bert_precision precisions[] = {BERT_F32, BERT_F16, BERT_INT8};

static size_t short_texts(struct text **chosen) {
    size_t count = 0;
    for (size_t i = 0; i < text_count; i++)
        if (strcmp(texts[i].model, "f32") == 0 && texts[i].count <= 40)
            chosen[count++] = &texts[i];
    ck_assert_uint_ge(count, 8);
    return count;
}

/* Runs the chosen texts in batches of so many. */
static void run_all(struct setting *s, struct text **chosen, size_t count, size_t batch,
                    struct answers *answers) {
    for (size_t i = 0; i < count; i += batch)
        run_batch(s, chosen + i, count - i < batch ? count - i : batch, answers + i);
}

static void check_same(struct text **chosen, size_t count, size_t vocabulary,
                       const struct answers *a, const struct answers *b) {
    for (size_t i = 0; i < count; i++)
        ck_assert_mem_eq(a[i].all, b[i].all,
                         chosen[i]->masks * vocabulary * sizeof(float));
}

static void free_answers(struct answers *answers, size_t count) {
    for (size_t i = 0; i < count; i++) {
        free(answers[i].all);
        answers[i].all = NULL;
    }
}

/* F12, F14: alone or among others, with any threads, on every table, the same bits. The
 * blis table promises this for itself alone. */
START_TEST(test_bits_do_not_depend_on_the_company) {
    static struct text *chosen[TEXTS];
    static struct answers first[TEXTS], alone[TEXTS], again[TEXTS];
    size_t count = short_texts(chosen), vocabulary = 0;
    const char *cpu;
    for (int t = 0; (cpu = kernel_name(t)) != NULL; t++) {
        if (kernel_select(cpu) == NULL)
            continue;
        for (int threads = 1; threads <= 3; threads++) {
            struct setting s = setting_new("f32", precisions[_i], cpu, threads);
            run_all(&s, chosen, count, 1, threads == 1 ? alone : again);
            if (threads > 1) {
                check_same(chosen, count, s.vocabulary, alone, again);
                free_answers(again, count);
            }
            for (size_t batch = 2; batch <= count; batch = batch * 2 + 1) {
                run_all(&s, chosen, count, batch, again);
                check_same(chosen, count, s.vocabulary, alone, again);
                free_answers(again, count);
            }
            vocabulary = s.vocabulary;
            setting_free(&s);
        }
        if (strcmp(cpu, "blis") == 0) {
            free_answers(alone, count);
            continue;
        }
        if (first[0].all == NULL) {
            memcpy(first, alone, sizeof first);
            continue;
        }
        check_same(chosen, count, vocabulary, first, alone);
        free_answers(alone, count);
    }
    free_answers(first, count);
}
END_TEST

/* The tiny model has random weights, the hardest case, and still mostly agrees. */
START_TEST(test_lower_precisions_are_near) {
    static struct text *chosen[TEXTS];
    static struct answers exact[TEXTS], near[TEXTS];
    static const double limits[] = {0, 0.003, 0.05};
    size_t count = short_texts(chosen);
    struct setting s = setting_new("f32", BERT_F32, NULL, 1);
    run_all(&s, chosen, count, 1, exact);
    setting_free(&s);
    s = setting_new("f32", precisions[_i], NULL, 1);
    run_all(&s, chosen, count, 1, near);
    double worst = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < chosen[i]->masks * s.vocabulary; j++)
            worst = fmax(worst, fabs(exp(exact[i].all[j]) - exp(near[i].all[j])));
    ck_assert_double_le(worst, limits[_i]);
    ck_assert(worst > 0 || _i == 0); /* else it was not this precision */
    setting_free(&s);
    free_answers(exact, count);
    free_answers(near, count);
}
END_TEST

/* ---- Promises to callers ------------------------------------------------------------
 */

START_TEST(test_forward_does_not_allocate) {
#ifndef UNCOUNTED
    struct setting s = setting_new("f32", precisions[_i], NULL, 2);
    struct text *text = &texts[0];
    int32_t ids[LONGEST];
    memcpy(ids, text->ids, sizeof ids);
    struct scored best[5];
    float listed[3];
    struct batch batch = {1, text->count, ids, (const size_t[]){0, text->count}};
    struct request request = {text->position[0], 5, NULL, s.every, 3};
    struct reply reply = {best, 0, listed, 0};
    size_t before = allocations;
    void *volatile counted = malloc(1); /* that they are counted at all */
    free(counted);
    size_t one = allocations - before;
    for (int i = 0; i < 3; i++)
        backend_cpu.forward(s.worker, &batch, &request, 1, &reply, NULL);
    size_t all = allocations - before;
    ck_assert_uint_eq(one, 1);
    ck_assert_uint_eq(all, 1);
    ck_assert(reply.finite);
    setting_free(&s);
#endif
}
END_TEST

static enum bert_status forward_one(struct setting *s, const int32_t *ids, size_t rows,
                                    size_t row, int32_t listed) {
    struct scored best[1];
    float value;
    struct batch batch = {1, rows, ids, (const size_t[]){0, rows}};
    struct request request = {row, 1, NULL, &listed, 1};
    struct reply reply = {best, 0, &value, 0};
    return backend_cpu.forward(s->worker, &batch, &request, 1, &reply, NULL);
}

START_TEST(test_wrong_calls_are_refused) {
    struct setting s = setting_new("f32", BERT_F32, NULL, 1);
    static int32_t ids[2000];
    int32_t beyond = (int32_t)s.vocabulary;
    ck_assert_int_eq(forward_one(&s, ids, 3, 2, 1), BERT_OK);
    ck_assert_int_eq(forward_one(&s, ids, 512, 511, 1), BERT_OK);
    ck_assert_int_eq(forward_one(&s, ids, 513, 0, 1), BERT_INTERNAL);
    ck_assert_int_eq(forward_one(&s, ids, 2000, 0, 1), BERT_INTERNAL);
    ck_assert_int_eq(forward_one(&s, ids, 3, 3, 1), BERT_INTERNAL);
    ck_assert_int_eq(forward_one(&s, ids, 3, 0, beyond), BERT_INTERNAL);
    ck_assert_int_eq(forward_one(&s, ids, 3, 0, -1), BERT_INTERNAL);
    ids[2] = beyond;
    ck_assert_int_eq(forward_one(&s, ids, 3, 0, 1), BERT_INTERNAL);
    ids[2] = -1;
    ck_assert_int_eq(forward_one(&s, ids, 3, 0, 1), BERT_INTERNAL);
    struct batch nothing = {0, 0, ids, (const size_t[]){0}};
    ck_assert_int_eq(backend_cpu.forward(s.worker, &nothing, NULL, 0, NULL, NULL),
                     BERT_OK);
    setting_free(&s);
}
END_TEST

START_TEST(test_backends) {
    char why[300] = "";
    struct backend_options unknown = {.cpu = "abacus"};
    ck_assert_int_eq(backend_cpu.probe(&unknown, why, sizeof why), 0);
    ck_assert_ptr_nonnull(strstr(why, "abacus"));
    ck_assert_int_gt(backend_cpu.probe(&(struct backend_options){0}, why, sizeof why), 0);
    setenv("BERT_BACKEND_DIR", "build", 1);
    ck_assert_ptr_null(backend_load("cuda", why, sizeof why));
    ck_assert_ptr_nonnull(strstr(why, "absolute"));
    setenv("BERT_BACKEND_DIR", "/nowhere", 1);
    ck_assert_ptr_null(backend_load("cuda", why, sizeof why));
    ck_assert_ptr_nonnull(strstr(why, "/nowhere/bert-cuda.so"));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("nn");
    TCase *tests = tcase_create("nn");
    tcase_set_timeout(tests, 300);
    tcase_add_unchecked_fixture(tests, read_texts, free_texts);
    tcase_add_loop_test(tests, test_golden_answers, 0, 5);
    tcase_add_loop_test(tests, test_bits_do_not_depend_on_the_company, 0, 3);
    tcase_add_loop_test(tests, test_lower_precisions_are_near, 0, 3);
    tcase_add_loop_test(tests, test_forward_does_not_allocate, 0, 3);
    tcase_add_test(tests, test_wrong_calls_are_refused);
    tcase_add_test(tests, test_backends);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
