/* SPDX-License-Identifier: MIT
 *
 * test_mlm_search.c: what the searches ask of a backend, and what they make of its
 * answers, with a backend that is a function of the id alone and remembers every
 * sequence. */
#include "base/mapping.h"
#include "mlm/fill.h"
#include "mlm/score.h"
#include "mlm/splice.h"
#include "mlm/words.h"

#include <check.h>
#include <math.h>

enum { POSITIONS = 16, ROOM = POSITIONS - 2, KEPT = 64, HOT = 1500 };

/* ---- The backend ---- */

static struct {
    int32_t ids[KEPT][POSITIONS];
    size_t length[KEPT], count, batches;
    float (*score)(int32_t id);
    bool infinite;
    size_t max_requests;
} seen;

static float by_id(int32_t id) {
    return -1 - (float)id / 1000;
}

static float one_hot(int32_t id) {
    return id == HOT ? -0.01f : -16.f;
}

static void fake_limits(void *worker, size_t *good_rows, size_t *max_rows,
                        size_t *max_requests) {
    (void)worker;
    *good_rows = 40;
    *max_rows = 64;
    *max_requests = seen.max_requests;
}

static void fake_reply(const struct request *request, struct reply *reply) {
    reply->finite = !seen.infinite;
    reply->best_count = 0;
    for (int32_t i = seen.score == by_id ? 0 : -1; i < 21128; i++) {
        int32_t id = i < 0 ? HOT : i; /* all scores fall by rising id, but for that one */
        if (reply->best_count < request->k && !(i == HOT && seen.score != by_id) &&
            (!request->allowed || request->allowed[id / 64] >> (id % 64) & 1))
            reply->best[reply->best_count++] = (struct scored){id, seen.score(id)};
    }
    for (size_t i = 0; i < request->listed_count; i++)
        reply->listed[i] = seen.score(request->listed[i]);
}

static enum bert_status fake_forward(void *worker, const struct batch *batch,
                                     const struct request *requests, size_t count,
                                     struct reply *replies, struct bert_error *error) {
    (void)worker;
    (void)error;
    ck_assert_uint_le(batch->rows, 64);
    ck_assert_uint_le(count, seen.max_requests);
    ck_assert_uint_eq(batch->start[batch->sequences], batch->rows);
    seen.batches++;
    for (size_t s = 0; s < batch->sequences; s++) {
        size_t length = batch->start[s + 1] - batch->start[s];
        ck_assert_uint_le(length, POSITIONS);
        if (seen.count < KEPT) {
            memcpy(seen.ids[seen.count], batch->ids + batch->start[s],
                   length * sizeof(int32_t));
            seen.length[seen.count] = length;
        }
        seen.count++;
    }
    for (size_t i = 0; i < count; i++) {
        ck_assert(i == 0 || requests[i].row > requests[i - 1].row);
        ck_assert_int_eq(batch->ids[requests[i].row], 103); /* only masks are asked */
        fake_reply(&requests[i], &replies[i]);
    }
    return BERT_OK;
}

static const struct backend fake = {.version = BACKEND_VERSION,
                                    .kind = "fake",
                                    .limits = fake_limits,
                                    .forward = fake_forward};

static struct mapping vocabulary;
static struct tokenizer *tokenizer;
static struct mlm mlm;
static struct bert_error error;

static void begin(void) {
    struct tokenizer_options options = {.split_chinese = true};
    ck_assert_int_eq(mapping_open(&vocabulary, "data/vocab/bert-base-chinese-vocab.txt",
                                  false, &error),
                     BERT_OK);
    struct span bytes = {(const char *)vocabulary.data, vocabulary.size};
    ck_assert_int_eq(tokenizer_new(&tokenizer, bytes, &options, &error), BERT_OK);
    memset(&seen, 0, sizeof seen);
    seen.score = by_id;
    seen.max_requests = 8;
    mlm = (struct mlm){.tokenizer = tokenizer, .positions = POSITIONS, .rows = 21128};
    ck_assert_int_eq(packer_init(&mlm.packer, &fake, NULL, POSITIONS, &error), BERT_OK);
}

static void end(void) {
    packer_release(&mlm.packer);
    arena_release(&mlm.results);
    arena_release(&mlm.scratch);
    arena_release(&mlm.step);
    tokenizer_free(tokenizer);
    mapping_close(&vocabulary);
}

/* ---- Windows ---- */

/* count Han characters, each another one, the masks in the places given (-1 ends). */
static struct buffer text_of(int count, const int *masks) {
    struct buffer text = {0};
    for (int i = 0; i < count; i++) {
        if (*masks == i) {
            buffer_add_text(&text, "[MASK]");
            masks++;
        } else {
            buffer_add_text(&text, tokenizer_entry(tokenizer, 1000 + i));
        }
    }
    ck_assert_ptr_nonnull(buffer_text(&text));
    return text;
}

static struct bert_result fill(struct span text, const char *context,
                               const struct bert_fill_options *options) {
    struct bert_text record = {
        .bytes = text.data, .length = text.size, .context = context};
    struct bert_result result;
    record.context_length = context ? strlen(context) : 0;
    seen.count = seen.batches = 0;
    ck_assert_msg(fill_texts(&mlm, &record, 1, options, &result, &error) == BERT_OK, "%s",
                  error.message);
    return result;
}

/* The s-th sequence is [CLS], tokens from to from + count, [SEP]. */
static void check_window(size_t s, int from, int count) {
    ck_assert_uint_eq(seen.length[s], (size_t)count + 2);
    ck_assert_int_eq(seen.ids[s][0], 101);
    for (int i = 0; i < count; i++)
        if (seen.ids[s][i + 1] != 103)
            ck_assert_int_eq(seen.ids[s][i + 1], 1000 + from + i);
    ck_assert_int_eq(seen.ids[s][count + 1], 102);
}

/* F10: masks that fit one window share it; else each has its own, centred and clamped. */
START_TEST(test_windows) {
    static const struct {
        int count, masks[4], windows, from[3];
    } cases[] = {{14, {3, -1}, 1, {0}},          {15, {7, -1}, 1, {1}},
                 {40, {20, -1}, 1, {14}},        {40, {2, -1}, 1, {0}},
                 {40, {38, -1}, 1, {26}},        {40, {10, 20, -1}, 1, {9}},
                 {40, {10, 24, -1}, 2, {4, 18}}, {40, {0, 20, 39, -1}, 3, {0, 14, 26}},
                 {40, {13, 26, -1}, 1, {13}}};
    struct bert_fill_options options = {.k = 1};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buffer text = text_of(cases[i].count, cases[i].masks);
        struct bert_result result = fill(span_of(text.data), NULL, &options);
        ck_assert_int_eq(result.status, BERT_OK);
        ck_assert_uint_eq(seen.count, (size_t)cases[i].windows);
        for (int w = 0; w < cases[i].windows; w++)
            check_window((size_t)w, cases[i].from[w], ROOM);
        ck_assert_int_eq(result.note != NULL, cases[i].count > ROOM);
        for (size_t m = 0; m < result.mask_count; m++) {
            ck_assert_uint_eq(result.masks[m].position, (size_t)cases[i].masks[m] + 1);
            ck_assert_uint_eq(result.masks[m].candidate_count, 1);
        }
        buffer_release(&text);
    }
}
END_TEST

/* The context is read before the text, cut first (with a note), and never shown. */
START_TEST(test_context) {
    static const int masks[] = {5, -1};
    struct bert_fill_options options = {.k = 1};
    struct buffer text = text_of(10, masks);
    struct bert_result result = fill(span_of(text.data), "甲乙丙丁戊己", &options);
    ck_assert_uint_eq(seen.count, 1);
    ck_assert_uint_eq(seen.length[0], POSITIONS);
    ck_assert_int_eq(seen.ids[0][1], tokenizer_id(tokenizer, span_of("丙")));
    ck_assert_int_eq(seen.ids[0][4], tokenizer_id(tokenizer, span_of("己")));
    ck_assert_int_eq(seen.ids[0][5], 1000);
    ck_assert_str_eq(result.note,
                     "context of 6 tokens: the model reads the last 4 of them");
    ck_assert_uint_eq(result.id_count, 12);
    ck_assert(strncmp(result.masks[0].candidates[0].text, text.data, 15) == 0);
    result = fill(span_of("\xff"), "甲", &options);
    ck_assert_int_eq(result.status, BERT_RECORD);
    result = fill(span_of("[MASK]"), "\xff", &options);
    ck_assert_int_eq(result.status, BERT_RECORD);
    buffer_release(&text);
}
END_TEST

/* A sequence with more masks than a batch takes requests goes in parts. */
START_TEST(test_requests_limit) {
    static const int masks[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, -1};
    struct bert_fill_options options = {.k = 2, .whole = true, .no_punct = true};
    struct buffer text = text_of(12, masks);
    struct bert_result result = fill(span_of(text.data), NULL, &options);
    ck_assert_uint_eq(seen.count, 2);
    ck_assert_uint_eq(result.mask_count, 10);
    for (size_t m = 0; m < 10; m++)
        ck_assert_uint_eq(result.masks[m].candidate_count, 2);
    buffer_release(&text);
}
END_TEST

/* ---- Answers ---- */

START_TEST(test_filters) {
    struct bert_fill_options options = {.k = 3};
    struct bert_result result = fill(span_of("[MASK]"), NULL, &options);
    ck_assert_str_eq(result.masks[0].candidates[0].word, "[PAD]"); /* as Hugging Face */
    options.no_punct = true;
    options.whole = true;
    options.han = true;
    result = fill(span_of("[MASK]"), NULL, &options);
    ck_assert_int_eq(result.masks[0].candidates[0].ids[0],
                     tokenizer_id(tokenizer, span_of("々")));
    /* Filters select and never renormalise; a threshold cuts. */
    ck_assert(fabs(result.masks[0].candidates[0].probability -
                   exp((double)by_id(result.masks[0].candidates[0].ids[0]))) < 1e-9);
    options.threshold = result.masks[0].candidates[1].probability;
    result = fill(span_of("[MASK]"), NULL, &options);
    ck_assert_uint_eq(result.masks[0].candidate_count, 2);
    options = (struct bert_fill_options){.joint = true, .k = 1};
    result = fill(span_of("[MASK]"), NULL, &options); /* no special, no unused */
    ck_assert_str_eq(result.fillings[0].words[0], "!");
}
END_TEST

/* The user's characters stay, ## goes, blanks stay, other masks stay. */
START_TEST(test_splice) {
    static const struct {
        const char *text, *filled;
    } cases[] = {{"地 [MASK] 霜", "地 故 霜"},
                 {"  A[MASK]！[MASK]\n", "  A故！[MASK]\n"},
                 {"“[MASK]”……", "“故”……"},
                 {"é[MASK]\t", "é故\t"}};
    struct bert_words *words;
    ck_assert_int_eq(
        wordlist_new(&words, tokenizer, ROOM, span_of("##故"), false, &error), BERT_OK);
    struct bert_fill_options options = {.words = words};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bert_result result = fill(span_of(cases[i].text), NULL, &options);
        ck_assert_str_eq(result.masks[0].candidates[0].word, "##故");
        ck_assert_str_eq(result.masks[0].candidates[0].text, cases[i].filled);
        ck_assert_uint_eq(result.masks[0].candidates[0].text_length,
                          strlen(cases[i].filled));
    }
    wordlist_free(words);
    ck_assert_int_eq(/* no piece, but a word of four tokens */
                     wordlist_new(&words, tokenizer, ROOM, span_of("##甲乙"), false,
                                  &error),
                     BERT_OK);
    options.words = words;
    struct bert_result whole = fill(span_of("地[MASK]霜"), NULL, &options);
    ck_assert_str_eq(whole.masks[0].candidates[0].text, "地##甲乙霜");
    wordlist_free(words);
    ck_assert(!splice_excessive(span_of("abc"), 1000));
    ck_assert(splice_excessive(span_of("abc"), (size_t)1 << 40));
}
END_TEST

/* F17: NaN never becomes an answer. */
START_TEST(test_not_finite) {
    struct bert_words *words;
    struct bert_text text = {.bytes = "天", .length = 3};
    struct bert_score score;
    ck_assert_int_eq(
        wordlist_new(&words, tokenizer, ROOM, span_of("好,满意"), false, &error),
        BERT_OK);
    struct bert_fill_options modes[] = {
        {0}, {.words = words}, {.joint = true}, {.span_min = 2, .span_max = 3}};
    seen.infinite = true;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        struct bert_result result = fill(span_of("天[MASK]"), NULL, &modes[i]);
        ck_assert_int_eq(result.status, BERT_RECORD);
        ck_assert_str_eq(result.error, PASSAGE_NOT_FINITE);
    }
    struct bert_score_options options = {.suspects = true};
    ck_assert_int_eq(score_texts(&mlm, &text, 1, &options, &score, &error), BERT_OK);
    ck_assert_int_eq(score.status, BERT_RECORD);
    ck_assert_int_eq(words_baseline(words, &mlm, span_of("[MASK]"), &error), BERT_USAGE);
    wordlist_free(words);
}
END_TEST

/* ---- Lists ---- */

/* All proper prefixes of all words go in one pass, each once; one-token words of all
 * masks share the text's own sequence. */
START_TEST(test_prefixes_once) {
    struct bert_words *words;
    static const char *const list = "好,坏,满意,满足,非常满意,非常好,非常坏";
    ck_assert_int_eq(wordlist_new(&words, tokenizer, ROOM, span_of(list), false, &error),
                     BERT_OK);
    ck_assert_uint_eq(words->count, 7);
    ck_assert_uint_eq(words->group_count, 4);
    /* 满; 非 非常; 非 非常 非常满: six proper prefixes, and four roots */
    ck_assert_uint_eq(words->node_count, 10);
    struct bert_fill_options options = {.words = words};
    struct bert_result result = fill(span_of("很[MASK]和[MASK]"), NULL, &options);
    ck_assert_uint_eq(result.mask_count, 2);
    ck_assert_uint_eq(seen.count, 1 + 2 * 9);
    ck_assert_uint_eq(result.unscored, 0);
    for (size_t i = 0; i < result.masks[0].candidate_count; i++) {
        const struct bert_candidate *candidate = &result.masks[0].candidates[i];
        double sum = 0;
        for (int t = 0; t < candidate->id_count; t++)
            sum += (double)by_id(candidate->ids[t]);
        ck_assert(fabs(log(candidate->probability) - sum) < 1e-6);
    }
    wordlist_free(words);
}
END_TEST

/* Words of any length read the window that words of one token read. */
START_TEST(test_word_windows) {
    static const int near[] = {10, 20, -1}, far[] = {10, 24, -1};
    struct bert_words *words;
    ck_assert_int_eq(
        wordlist_new(&words, tokenizer, ROOM, span_of("好,满意"), false, &error),
        BERT_OK);
    struct bert_fill_options options = {.words = words};
    struct buffer text = text_of(40, near);
    fill(span_of(text.data), NULL, &options);
    ck_assert_uint_eq(seen.count, 1 + 2 * 2);
    for (size_t s = 0; s < seen.count; s++) {
        size_t second = 20 - 9 + 1 + (s == 1 || s == 2);
        ck_assert_uint_eq(seen.length[s], POSITIONS);
        ck_assert_int_eq(seen.ids[s][1], 1009);
        ck_assert_int_eq(seen.ids[s][second],
                         s == 4 ? tokenizer_id(tokenizer, span_of("满")) : 103);
    }
    buffer_release(&text);
    text = text_of(40, far);
    fill(span_of(text.data), NULL, &options);
    ck_assert_uint_eq(seen.count, 2 + 2 * 2);
    for (size_t s = 0; s < seen.count; s++)
        ck_assert_int_eq(seen.ids[s][1], s == 0 || s == 2 || s == 3 ? 1004 : 1018);
    buffer_release(&text);
    wordlist_free(words);
}
END_TEST

/* Long lists go best first, and what cannot matter is left out and counted. */
START_TEST(test_best_first) {
    enum { WORDS = 400 };
    struct buffer list = {0};
    struct bert_words *words;
    for (int i = 0; i < WORDS; i++) {
        buffer_add_text(&list, tokenizer_entry(tokenizer, 1300 + i));
        buffer_add_text(&list, tokenizer_entry(tokenizer, HOT));
        buffer_add_byte(&list, '\n');
    }
    struct span text = {list.data, list.size};
    ck_assert_int_eq(wordlist_new(&words, tokenizer, ROOM, text, true, &error), BERT_OK);
    struct bert_fill_options options = {.words = words};
    seen.score = one_hot;
    struct bert_result result = fill(span_of("很[MASK]。"), NULL, &options);
    ck_assert_uint_eq(seen.count, 1 + 64); /* the root, and one round */
    ck_assert_uint_eq(result.unscored, WORDS - 64);
    ck_assert_uint_eq(result.masks[0].candidate_count, 64);
    ck_assert_int_eq(result.masks[0].candidates[0].ids[0], HOT);
    ck_assert(result.masks[0].candidates[0].share > 1 - 1e-4);
    /* Equal words stand in the order of their ids. */
    ck_assert_int_eq(result.masks[0].candidates[1].ids[0], 1300);
    /* Where nothing stands out, all are scored; with a baseline, too. */
    seen.score = by_id;
    result = fill(span_of("很[MASK]。"), NULL, &options);
    ck_assert_uint_eq(result.unscored, 0);
    seen.score = one_hot;
    ck_assert_int_eq(words_baseline(words, &mlm, span_of("[MASK]"), &error), BERT_OK);
    result = fill(span_of("很[MASK]。"), NULL, &options);
    ck_assert_uint_eq(result.unscored, 0);
    ck_assert(fabs(result.masks[0].candidates[0].share - 1. / WORDS) < 1e-9);
    wordlist_free(words);
    buffer_release(&list);
}
END_TEST

/* ---- Whole fillings ---- */

/* Two masks: expansions stop as soon as a first token alone is below the k-th total. */
START_TEST(test_bound) {
    struct bert_fill_options options = {.joint = true, .k = 1};
    seen.score = one_hot;
    struct bert_result result = fill(span_of("[MASK]天[MASK]"), NULL, &options);
    ck_assert(result.exact);
    ck_assert_uint_eq(seen.count, 1 + 16); /* the masks, and the first round */
    ck_assert_uint_eq(result.filling_count, 1);
    ck_assert_int_eq(result.fillings[0].ids[0][0], HOT);
    ck_assert_int_eq(result.fillings[0].ids[1][0], HOT);
    seen.score = by_id; /* too flat to be sure */
    result = fill(span_of("[MASK]天[MASK]"), NULL, &options);
    ck_assert(!result.exact);
    ck_assert_uint_eq(seen.count, 1 + 256);
}
END_TEST

START_TEST(test_combinations) {
    struct bert_fill_options options = {.span_min = 1, .span_max = 4, .k = 1};
    struct bert_result result = fill(span_of("[MASK][MASK][MASK]"), NULL, &options);
    ck_assert_int_eq(result.status, BERT_OK); /* 64 */
    result = fill(span_of("[MASK][MASK][MASK][MASK]"), NULL, &options);
    ck_assert_int_eq(result.status, BERT_RECORD);
    ck_assert_ptr_nonnull(strstr(result.error, "more than 64"));
    static const int masks[] = {0, -1};
    struct buffer text = text_of(12, masks);
    result = fill(span_of(text.data), NULL, &options);
    ck_assert_int_eq(result.status, BERT_RECORD); /* fits with three characters only */
    buffer_release(&text);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("mlm search");
    TCase *tests = tcase_create("fake backend");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, test_windows);
    tcase_add_test(tests, test_context);
    tcase_add_test(tests, test_requests_limit);
    tcase_add_test(tests, test_filters);
    tcase_add_test(tests, test_splice);
    tcase_add_test(tests, test_not_finite);
    tcase_add_test(tests, test_prefixes_once);
    tcase_add_test(tests, test_word_windows);
    tcase_add_test(tests, test_best_first);
    tcase_add_test(tests, test_bound);
    tcase_add_test(tests, test_combinations);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
