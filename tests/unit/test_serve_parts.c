/* SPDX-License-Identifier: MIT
 *
 * test_serve_parts.c: what needs no socket: targets, multipart bodies, request
 * bodies, the cache, the rows of a batch. */
#include "service/ask.h"
#include "service/batch_row.h"
#include "service/cache.h"
#include "service/multipart.h"
#include "service/target.h"

#include <check.h>

static bool parses(struct target *target, const char *raw) {
    struct bert_error error;
    return target_parse(target, span_of(raw), &error) == BERT_OK;
}

START_TEST(S13_targets) {
    static const struct {
        const char *raw, *path; /* path NULL: refused */
    } cases[] = {
        {"/", "/"},
        {"/models/a%2Fb?x", "/models/a/b"},
        {"/%E5%A5%BD", "/好"},
        {"http://h:1/health?x=1", "/health"},
        {"/a.b/..c/...", "/a.b/..c/..."},
        {"", NULL},
        {"x", NULL},
        {"*", NULL},
        {"http://h", NULL},
        {"../x", NULL},
        {"/..", NULL},
        {"/a/../b", NULL},
        {"/%2e%2e/x", NULL},
        {"/..%2fx", NULL},
        {"/%2E.", NULL},
        {"/.", NULL},
        {"/a\\b", NULL},
        {"/%5c..", NULL},
        {"/%00", NULL},
        {"/%0a", NULL},
        {"/%", NULL},
        {"/%4", NULL},
        {"/%zz", NULL},
        {"/%FF", NULL},
        {"/?a=%FF", NULL},
        {"/%ED%A0%BD", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct target target;
        bool parsed = parses(&target, cases[i].raw);
        ck_assert_msg(parsed == (cases[i].path != NULL), "%s", cases[i].raw);
        if (parsed)
            ck_assert_msg(span_equal(target.path, span_of(cases[i].path)), "%s",
                          cases[i].raw);
        target_release(&target);
    }
}
END_TEST

START_TEST(queries) {
    struct target target;
    struct span value;
    ck_assert(parses(&target, "/predict?text=%E5%A5%BD+%2B[MASK]&&a=1&a=2&b&=c"));
    ck_assert(target_query(&target, "text", &value));
    ck_assert(span_equal(value, span_of("好 +[MASK]")));
    ck_assert(target_query(&target, "a", &value) && span_equal(value, span_of("1")));
    ck_assert(target_query(&target, "b", &value) && value.size == 0);
    ck_assert(!target_query(&target, "c", &value));
    target_release(&target);
    ck_assert(!parses(&target,
                      "/?a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a"
                      "&a&a"));
    target_release(&target);
}
END_TEST

/* "name:content|..." of the parts, and how it ended. */
static const char *parts_of(const char *type, const char *body, struct buffer *out) {
    struct multipart multipart;
    struct multipart_part part;
    enum multipart_status status;
    out->size = 0;
    if (!multipart_start(&multipart, type, span_of(body)))
        return "refused";
    while ((status = multipart_next(&multipart, &part)) == MULTIPART_PART) {
        buffer_add(out, part.name.data, part.name.size);
        buffer_add_text(out, part.is_file ? "*:" : ":");
        buffer_add(out, part.content.data, part.content.size);
        buffer_add_byte(out, '|');
    }
    buffer_add_text(out, status == MULTIPART_END ? "end" : "bad");
    return buffer_text(out);
}

START_TEST(multipart_bodies) {
    static const char
        type[] = "multipart/form-data; boundary=e",
        head[] =
            "--e\r\nContent-Disposition: form-data; name=\"a\"; filename=\"x;y\"\r\n\r\n";
    struct buffer out = {0};
    char body[300];
    snprintf(body, sizeof body,
             "%stext\r\n--e\r\ncontent-disposition: form-data; name=b\r\n\r\n"
             "\r\n--e--\r\n",
             head);
    ck_assert_str_eq(parts_of(type, body, &out), "a*:text|b:|end");
    ck_assert_str_eq(
        parts_of("Multipart/Form-Data;x=\"; boundary=z\"; boundary=\"e\"", body, &out),
        "a*:text|b:|end");
    snprintf(body, sizeof body, "preamble\r\n%sx--e\r\n--e--", head);
    ck_assert_str_eq(parts_of(type, body, &out), "a*:x--e|end");
    ck_assert_str_eq(parts_of(type, "--e--", &out), "end");
    static const char *const bad[] = {"",      "--", "--e", "--e\r\n", "--e\r\n\r\n",
                                      "--e x", "e"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_str_eq(parts_of(type, bad[i], &out), "bad");
    static const char *const types[] = {
        "", "text/csv", "multipart/form-data",
        "multipart/form-data; boundary=", "multipart/form-data; xboundary=e"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        ck_assert_str_eq(parts_of(types[i], body, &out), "refused");
    ck_assert_str_eq(parts_of(NULL, body, &out), "refused");
    buffer_release(&out);
}
END_TEST

static const char *asks(enum ask_shape shape, const char *body, struct ask *ask) {
    struct bert_error error;
    const char *code;
    return ask_parse(ask, shape, span_of(body), NULL, &code, &error) == BERT_OK ? "ok"
                                                                                : code;
}

START_TEST(request_bodies) {
    struct ask ask;
    ck_assert_str_eq(asks(ASK_PREDICT, "{\"text\":\"a[MASK]\"}", &ask), "ok");
    ck_assert(ask.k == ASK_DEFAULT_K && ask.words.size == 0);
    ask_release(&ask);
    ck_assert_str_eq(asks(ASK_PREDICT, "{\"text\":\"a\",\"words\":\"好,坏、大\"}", &ask),
                     "ok");
    ck_assert(ask.k == 0 && ask.words.size == 13 && !ask.word_lines);
    ask_release(&ask);
    ck_assert_str_eq(asks(ASK_FILL_MASK,
                          "{\"inputs\":[\"a\",\"b\"],\"parameters\":"
                          "{\"targets\":[\"好\",\"坏\"],\"top_k\":9,\"truncate\":false}}",
                          &ask),
                     "ok");
    ck_assert(ask.count == 2 && ask.k == 9 && ask.targets && ask.refuse_long);
    ck_assert(
        span_equal((struct span){ask.words.data, ask.words.size}, span_of("好\n坏\n")));
    ask_release(&ask);
    static const char *const bad[] = {"{\"text\":1}",
                                      "{}",
                                      "[]",
                                      "{\"text\":\"a\",\"top_k\":0}",
                                      "{\"text\":\"a\",\"words\":[]}",
                                      "{\"text\":\"a\",\"words\":[\"a\\nb\"]}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_str_eq(asks(ASK_PREDICT, bad[i], &ask), "bad_request");
        ask_release(&ask);
    }
    ck_assert_str_eq(asks(ASK_PREDICT, "{\"text\":\"\xff\"}", &ask), "bad_json");
    ask_release(&ask);
}
END_TEST

static struct outcome *outcome_of(const char *word, size_t masks) {
    static const int32_t id = 7, ids[] = {101, 103, 103, 102};
    struct bert_candidate candidate = {
        .word = word, .ids = &id, .id_count = 1, .probability = 0.25};
    struct bert_mask mask[2] = {
        {.position = 1, .candidates = &candidate, .candidate_count = 1},
        {.position = 2, .candidates = &candidate, .candidate_count = 1}};
    struct bert_result result = {
        .ids = ids, .id_count = 4, .masks = mask, .mask_count = masks};
    return outcome_new(&result, false);
}

static bool holds(struct cache *cache, const char *key) {
    struct outcome *found = cache_get(cache, span_of(key));
    outcome_drop(found);
    return found != NULL;
}

START_TEST(cache_forgets_the_least_recently_used) {
    struct cache *cache;
    struct outcome *outcome = outcome_of("好", 1);
    ck_assert_int_eq(cache_new(&cache, 3, NULL), BERT_OK);
    cache_put(cache, span_of("a"), outcome);
    cache_put(cache, span_of("b"), outcome);
    cache_put(cache, span_of("c"), outcome);
    ck_assert(holds(cache, "a"));
    cache_put(cache, span_of("d"), outcome);
    ck_assert(!holds(cache, "b"));
    ck_assert(holds(cache, "a") && holds(cache, "c") && holds(cache, "d"));
    cache_put(cache, span_of("a"), outcome); /* again: replaced, not doubled */
    ck_assert_uint_eq(cache_count(cache), 3);
    char key[16];
    for (int i = 0; i < 1000; i++) {
        snprintf(key, sizeof key, "%d", i);
        cache_put(cache, span_of(key), outcome);
    }
    ck_assert(holds(cache, "999") && holds(cache, "997") && !holds(cache, "996"));
    cache_clear(cache);
    ck_assert_uint_eq(cache_count(cache), 0);
    static char huge[CACHE_MOST_KEY + 1]; /* of a text that would take too much memory */
    cache_put(cache, (struct span){huge, sizeof huge}, outcome);
    ck_assert_uint_eq(cache_count(cache), 0);
    cache_put(cache, (struct span){huge, sizeof huge - 1}, outcome);
    ck_assert_uint_eq(cache_count(cache), 1);
    cache_free(cache);
    ck_assert_int_eq(cache_new(&cache, 0, NULL), BERT_OK);
    cache_put(cache, span_of("a"), outcome);
    ck_assert(!holds(cache, "a"));
    cache_free(cache);
    outcome_drop(outcome);
}
END_TEST

START_TEST(rows_of_a_batch) {
    static const struct {
        enum batch_format format;
        size_t masks;
        const char *wanted;
    } cases[] = {
        {BATCH_JSON, 1,
         ",{\"id\":\"1,\",\"text\":\"a\\\"\",\"top1\":\"好\",\"confidence\":0.25,"
         "\"error\":null}"},
        {BATCH_JSONL, 2,
         "{\"id\":\"1,\",\"text\":\"a\\\"\",\"top1\":[\"好\",\"好\"],"
         "\"confidence\":[0.25,0.25],\"error\":null}\n"},
        {BATCH_CSV, 2, "\"1,\",\"a\"\"\",好 好,0.25 0.25,\r\n"},
        {BATCH_CSV, 0, "\"1,\",\"a\"\"\",,,\"why, so\"\r\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct outcome *outcome =
            cases[i].masks ? outcome_of("好", cases[i].masks) : NULL;
        struct batch_row row = {span_of("1,"), span_of("a\""), false, outcome, "why, so"};
        struct buffer out = {0};
        batch_put_row(&out, cases[i].format, &row, false);
        ck_assert_str_eq(buffer_text(&out), cases[i].wanted);
        buffer_release(&out);
        outcome_drop(outcome);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("serve_parts");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, S13_targets);
    tcase_add_test(tests, queries);
    tcase_add_test(tests, multipart_bodies);
    tcase_add_test(tests, request_bodies);
    tcase_add_test(tests, cache_forgets_the_least_recently_used);
    tcase_add_test(tests, rows_of_a_batch);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
