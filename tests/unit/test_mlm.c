/* SPDX-License-Identifier: MIT
 *
 * test_mlm.c: filling and scoring through bert.h against Hugging Face: its pipeline's own
 * objects, and brute force over its model for words, spans, joint fillings and
 * pseudo-log-likelihoods (tests/golden/make_words.py). */
#include "bert.h"
#include "fill_output.h"
#include "io/json.h"
#include "scratch.h"

#include <math.h>

static struct bert_model *model;
static struct bert_session *session;
static struct bert_error error;

static void begin(void) {
    struct bert_open_options options = {.model = "tests/golden/tiny/f32"};
    ck_assert_msg(bert_open(&model, &options, &error) == BERT_OK, "%s", error.message);
    ck_assert_int_eq(bert_session_new(&session, model, 1, &error), BERT_OK);
}

static void end(void) {
    bert_session_free(session);
    bert_close(model);
}

/* ---- Golden lines ---- */

struct golden {
    struct json *document;
    const char *kind; /* "" when there is none */
    struct bert_text text;
};

/* Calls check for each line of a file; returns how many there were. */
static size_t each_line(const char *path, void (*check)(const struct golden *golden)) {
    struct buffer file = scratch_read(path);
    size_t lines = 0;
    for (size_t at = 0; at < file.size;) {
        const char *line = file.data + at, *stop = memchr(line, '\n', file.size - at);
        size_t size = stop ? (size_t)(stop - line) : file.size - at;
        struct golden golden = {.kind = ""};
        struct span text, kind;
        ck_assert_msg(json_parse(&golden.document, line, size, 0, &error) == BERT_OK,
                      "%s", error.message);
        ck_assert(json_get_text(json_member(golden.document, "text"), &text));
        golden.text = (struct bert_text){.bytes = text.data, .length = text.size};
        if (json_get_text(json_member(golden.document, "kind"), &kind))
            golden.kind = kind.data;
        check(&golden);
        json_free(golden.document);
        at += size + 1;
        lines++;
    }
    buffer_release(&file);
    return lines;
}

static double number(const struct json *object, const char *name) {
    double value = NAN;
    ck_assert_msg(json_get_number(json_member(object, name), &value), "no number %s",
                  name);
    return value;
}

static int whole(const struct json *object, const char *name) {
    return (int)number(object, name);
}

static void check_near(double got, double wanted, double within, const char *what) {
    ck_assert_msg(fabs(got - wanted) <= within, "%s: %.9g is not %.9g", what, got,
                  wanted);
}

/* ---- The pipeline ---- */

static bool is_known(struct span word) {
    struct bert_tokens tokens;
    ck_assert_int_eq(bert_tokenize(session, word.data, word.size, 0, &tokens, &error),
                     BERT_OK);
    return tokens.unknown == 0;
}

/* Hugging Face scores an unknown target as [UNK]; ours refuses it (F04). */
static struct bert_words *new_words(const struct json *list) {
    struct buffer lines = {0};
    struct span word;
    struct bert_words *words = NULL;
    for (size_t i = 0; i < json_count(list); i++) {
        ck_assert(json_get_text(json_item(list, i), &word));
        if (!is_known(word))
            continue;
        buffer_add(&lines, word.data, word.size);
        buffer_add_byte(&lines, '\n');
    }
    ck_assert_msg(bert_words_new(&words, model, lines.data, lines.size, true, NULL,
                                 &error) == BERT_OK,
                  "%s", error.message);
    buffer_release(&lines);
    return words;
}

static void check_pipeline_mask(const struct bert_mask *mask, const struct json *list) {
    ck_assert_uint_eq(mask->candidate_count, json_count(list));
    for (size_t i = 0; i < mask->candidate_count; i++) {
        const struct json *wanted = json_item(list, i);
        const struct bert_candidate *got = &mask->candidates[i];
        struct span word;
        ck_assert_int_eq(got->ids[0], whole(wanted, "token"));
        ck_assert(json_get_text(json_member(wanted, "token_str"), &word));
        ck_assert_str_eq(got->word, word.data);
        check_near(got->probability, number(wanted, "score"), 1e-4, got->word);
    }
}

static void check_same_text(const struct json *got, const struct json *wanted,
                            const char *name) {
    struct span a, b;
    ck_assert(json_get_text(json_member(got, name), &a));
    ck_assert(json_get_text(json_member(wanted, name), &b));
    ck_assert_str_eq(a.data, b.data);
}

/* Objects, or lists of them. */
static void check_same_objects(const struct json *got, const struct json *wanted) {
    ck_assert_int_eq(json_kind(got), json_kind(wanted));
    for (size_t i = 0; json_kind(got) == JSON_KIND_LIST && i < json_count(wanted); i++)
        check_same_objects(json_item(got, i), json_item(wanted, i));
    if (json_kind(got) == JSON_KIND_LIST)
        ck_assert_uint_eq(json_count(got), json_count(wanted));
    if (json_kind(got) != JSON_KIND_OBJECT)
        return;
    check_near(number(got, "score"), number(wanted, "score"), 1e-4, "score");
    ck_assert_int_eq(whole(got, "token"), whole(wanted, "token"));
    check_same_text(got, wanted, "token_str");
    check_same_text(got, wanted, "sequence");
}

/* What --to=hf prints is what the pipeline returns. */
static void check_hf(const struct golden *golden, const struct bert_result *result) {
    static const struct fill_look look = {.shape = SHAPE_HF};
    struct buffer out = {0};
    struct json *document;
    ck_assert_int_eq(fill_output_put(&out, &look, session, &golden->text, result, &error),
                     BERT_OK);
    ck_assert_msg(json_parse(&document, out.data, out.size, 0, &error) == BERT_OK, "%s",
                  error.message);
    check_same_objects(document, json_member(golden->document, "result"));
    json_free(document);
    buffer_release(&out);
}

static void check_pipeline(const struct golden *golden) {
    const struct json *parameters = json_member(golden->document, "parameters");
    const struct json *targets = json_member(parameters, "targets");
    const struct json *wanted = json_member(golden->document, "result");
    struct bert_fill_options options = {.k = 5};
    struct bert_result result;
    struct bert_words *words = targets ? new_words(targets) : NULL;
    options.words = words;
    if (json_member(parameters, "top_k"))
        options.k = whole(parameters, "top_k");
    ck_assert_int_eq(bert_fill(session, &golden->text, 1, &options, &result, &error),
                     BERT_OK);
    ck_assert_msg(result.status == BERT_OK, "%s", result.error);
    if (result.mask_count == 1)
        check_pipeline_mask(&result.masks[0], wanted);
    else
        for (size_t m = 0; m < result.mask_count; m++)
            check_pipeline_mask(&result.masks[m], json_item(wanted, m));
    check_hf(golden, &result);
    bert_words_free(words);
}

/* F01 (two masks, one list each), F06, F07, F08 (targets are not renormalised). */
START_TEST(test_pipeline) {
    ck_assert_uint_eq(each_line("tests/golden/pipeline.jsonl", check_pipeline), 19);
}
END_TEST

/* ---- Brute force ---- */

static void check_words(const struct golden *golden) {
    struct bert_words *words = new_words(json_member(golden->document, "words"));
    const struct json *masks = json_member(golden->document, "masks");
    struct bert_fill_options options = {.words = words};
    struct bert_result result;
    ck_assert_int_eq(bert_fill(session, &golden->text, 1, &options, &result, &error),
                     BERT_OK);
    ck_assert_uint_eq(result.mask_count, json_count(masks));
    for (size_t m = 0; m < result.mask_count; m++) {
        const struct bert_mask *mask = &result.masks[m];
        double sum = 0, share = 0;
        ck_assert_uint_eq(mask->candidate_count, json_count(json_item(masks, m)));
        for (size_t i = 0; i < mask->candidate_count; i++) {
            sum += mask->candidates[i].probability;
            share += mask->candidates[i].share;
            ck_assert(i == 0 ||
                      mask->candidates[i].share <= mask->candidates[i - 1].share);
        }
        check_near(share, 1, 1e-9, "shares");
        for (size_t i = 0; i < mask->candidate_count; i++) {
            const struct json *wanted = json_item(json_item(masks, m), i);
            struct span word;
            size_t c = 0;
            ck_assert(json_get_text(json_member(wanted, "word"), &word));
            while (c < mask->candidate_count &&
                   strcmp(mask->candidates[c].word, word.data))
                c++;
            ck_assert_uint_lt(c, mask->candidate_count);
            const struct bert_candidate *got = &mask->candidates[c];
            check_near(log(got->probability), number(wanted, "log_probability"), 1e-3,
                       word.data);
            check_near(got->share, got->probability / sum, 1e-9, word.data);
        }
    }
    bert_words_free(words);
}

static void check_fillings(const struct golden *golden) {
    const struct json *wanted = json_member(golden->document, "fillings");
    struct span rank;
    bool exact;
    struct bert_fill_options options = {.k = whole(golden->document, "k"),
                                        .joint = strcmp(golden->kind, "joint") == 0,
                                        .span_min = whole(golden->document, "min"),
                                        .span_max = whole(golden->document, "max")};
    struct bert_result result;
    ck_assert(json_get_text(json_member(golden->document, "rank"), &rank));
    ck_assert(json_get_bool(json_member(golden->document, "exact"), &exact));
    options.rank_total = strcmp(rank.data, "total") == 0;
    ck_assert_int_eq(bert_fill(session, &golden->text, 1, &options, &result, &error),
                     BERT_OK);
    ck_assert_msg(result.status == BERT_OK, "%s", result.error);
    ck_assert_int_eq(result.exact, exact);
    ck_assert_uint_eq(result.filling_count, json_count(wanted));
    for (size_t i = 0; i < result.filling_count; i++) {
        const struct json *filling = json_item(wanted, i);
        const struct json *ids = json_member(filling, "ids");
        const struct bert_filling *got = &result.fillings[i];
        ck_assert_uint_eq(got->word_count, json_count(ids));
        for (size_t m = 0; m < got->word_count; m++) {
            ck_assert_uint_eq((size_t)got->id_counts[m], json_count(json_item(ids, m)));
            for (int j = 0; j < got->id_counts[m]; j++) {
                int64_t id;
                ck_assert(json_get_whole(json_item(json_item(ids, m), (size_t)j), &id));
                ck_assert_msg(got->ids[m][j] == id, "%s: filling %zu", golden->text.bytes,
                              i);
            }
        }
        check_near(log(got->probability), number(filling, "log_probability"), 1e-3,
                   golden->text.bytes);
        check_near(got->mean_log_probability, number(filling, "mean"), 1e-3,
                   golden->text.bytes);
    }
}

static void check_score(const struct golden *golden) {
    const struct json *each = json_member(golden->document, "per_token");
    struct bert_score_options options = {.per_token = true};
    struct bert_score score;
    ck_assert_int_eq(bert_score(session, &golden->text, 1, &options, &score, &error),
                     BERT_OK);
    ck_assert_msg(score.status == BERT_OK, "%s", score.error);
    ck_assert_uint_eq(score.tokens, (size_t)whole(golden->document, "tokens"));
    ck_assert_uint_eq(score.unknown, (size_t)whole(golden->document, "unknown"));
    check_near(score.log_likelihood, number(golden->document, "log_likelihood"), 1e-3,
               golden->text.bytes);
    check_near(score.pseudo_perplexity, exp(-score.log_likelihood / (double)score.tokens),
               1e-9 * score.pseudo_perplexity, golden->text.bytes);
    ck_assert_uint_eq(score.token_count, json_count(each));
    for (size_t i = 0; i < score.token_count; i++) {
        double wanted;
        if (json_get_number(json_item(each, i), &wanted))
            check_near(score.per_token[i].log_probability, wanted, 1e-3,
                       golden->text.bytes);
        else
            ck_assert(isnan(score.per_token[i].log_probability));
    }
}

static size_t counted[3];

static void check_brute_force(const struct golden *golden) {
    if (strcmp(golden->kind, "words") == 0)
        counted[0]++, check_words(golden);
    else if (strcmp(golden->kind, "score") == 0)
        counted[1]++, check_score(golden);
    else
        counted[2]++, check_fillings(golden);
}

START_TEST(test_brute_force) {
    ck_assert_uint_eq(each_line("tests/golden/words.jsonl", check_brute_force), 65);
    ck_assert_uint_eq(counted[0], 5);
    ck_assert_uint_eq(counted[1], 50);
    ck_assert_uint_eq(counted[2], 10);
}
END_TEST

/* ---- Neighbours ---- */

static struct buffer show(const struct bert_result *result) {
    struct buffer out = {0};
    if (result->error)
        buffer_add_text(&out, result->error);
    for (size_t m = 0; m < result->mask_count; m++)
        for (size_t i = 0; i < result->masks[m].candidate_count; i++)
            buffer_printf(&out, "%s %a %a %s\n", result->masks[m].candidates[i].word,
                          result->masks[m].candidates[i].probability,
                          result->masks[m].candidates[i].share,
                          result->masks[m].candidates[i].text);
    for (size_t i = 0; i < result->filling_count; i++)
        buffer_printf(&out, "%a %s\n", result->fillings[i].probability,
                      result->fillings[i].text);
    ck_assert_ptr_nonnull(buffer_text(&out));
    return out;
}

/* F12: a text gets the same bits alone and among others, whatever is asked of it. */
START_TEST(test_neighbours) {
    enum { TEXTS = 40 };
    static const char *const texts[] = {
        "今天天气真[MASK]啊",       "守株[MASK]", "没有", "",
        "我[MASK]天去[MASK]学校。", "\xff[MASK]"};
    struct bert_words *words = NULL;
    ck_assert_int_eq(bert_words_new(&words, model, "满意,一般,好", strlen("满意,一般,好"),
                                    false, NULL, &error),
                     BERT_OK);
    struct bert_fill_options modes[] = {{.k = 3},
                                        {.words = words},
                                        {.k = 3, .joint = true},
                                        {.span_min = 1, .span_max = 2}};
    for (size_t mode = 0; mode < sizeof modes / sizeof *modes; mode++) {
        struct bert_text many[TEXTS];
        struct bert_result results[TEXTS], alone;
        struct buffer shown[TEXTS];
        for (size_t i = 0; i < TEXTS; i++) {
            const char *text = texts[i % (sizeof texts / sizeof *texts)];
            many[i] = (struct bert_text){.bytes = text, .length = strlen(text)};
        }
        ck_assert_int_eq(bert_fill(session, many, TEXTS, &modes[mode], results, &error),
                         BERT_OK);
        for (size_t i = 0; i < TEXTS; i++)
            shown[i] = show(&results[i]);
        for (size_t i = 0; i < TEXTS; i++) {
            ck_assert_int_eq(
                bert_fill(session, &many[i], 1, &modes[mode], &alone, &error), BERT_OK);
            struct buffer own = show(&alone);
            ck_assert_str_eq(own.data, shown[i].data);
            buffer_release(&own);
            buffer_release(&shown[i]);
        }
    }
    bert_words_free(words);
}
END_TEST

/* ---- Words ---- */

static enum bert_status try_list(const char *list, bool lines, size_t count) {
    struct bert_words *words = NULL;
    enum bert_status status =
        bert_words_new(&words, model, list, strlen(list), lines, NULL, &error);
    if (status == BERT_OK)
        ck_assert_uint_eq(bert_words_count(words), count);
    else
        ck_assert_ptr_null(words);
    bert_words_free(words);
    return status;
}

START_TEST(test_lists) {
    ck_assert_int_eq(try_list("满意，一般、好,好", false, 3), BERT_OK);
    ck_assert_int_eq(try_list("满意,一般;好", false, 2), BERT_OK); /* no label: a word */
    ck_assert_int_eq(try_list("\xEF\xBB\xBF满意\t好\r\n\n一般\n", true, 2), BERT_OK);
    ck_assert_int_eq(try_list("好：满意；行:一般、好", false, 3), BERT_OK);
    ck_assert_int_eq(try_list("好:满意;行:满意", false, 0), BERT_USAGE);
    ck_assert_ptr_nonnull(strstr(error.message, "two labels"));
    ck_assert_int_eq(try_list(":满意", false, 0), BERT_USAGE);
    ck_assert_int_eq(try_list("", false, 0), BERT_USAGE);
    ck_assert_int_eq(try_list("\n\n", true, 0), BERT_USAGE);
    ck_assert_ptr_nonnull(strstr(error.message, "empty"));
    ck_assert_int_eq(try_list("##故", false, 1), BERT_OK); /* an entry, as it is */
}
END_TEST

/* F03: never its first piece. F04: never [UNK]. All refused words are named. */
START_TEST(test_refused_words) {
    ck_assert_int_eq(try_list("好,“,[MASK],北 京,[SEP],,没", false, 0), BERT_USAGE);
    ck_assert_str_eq(error.message,
                     "words that no mask can be: '“' (unknown to the model), '[MASK]' (a "
                     "mask), '北 京' (a blank), '[SEP]' (a special token), '' (empty)");
    char *long_word = malloc(1 << 20);
    memset(long_word, 'a', (1 << 20) - 1);
    long_word[(1 << 20) - 1] = '\0';
    ck_assert_int_eq(try_list(long_word, false, 0), BERT_USAGE);
    ck_assert_uint_lt(strlen(error.message), 200);
    free(long_word);
}
END_TEST

/* A long list in very many masks is refused before its memory is asked for. */
START_TEST(test_long_list_in_many_masks) {
    enum { FIRST = 300, TOKENS = 200, MASKS = 450 };
    struct buffer list = {0}, text = {0};
    for (int i = 0; i < TOKENS * TOKENS; i++)
        buffer_printf(&list, "%s%s\n", bert_token(model, FIRST + i / TOKENS),
                      bert_token(model, FIRST + i % TOKENS));
    for (int i = 0; i < MASKS; i++)
        buffer_add_text(&text, "[MASK]");
    struct bert_words *words = NULL;
    ck_assert_msg(bert_words_new(&words, model, list.data, list.size, true, NULL,
                                 &error) == BERT_OK,
                  "%s", error.message);
    struct bert_text record = {.bytes = text.data, .length = text.size};
    struct bert_fill_options options = {.words = words, .k = 1};
    struct bert_result result;
    ck_assert_int_eq(bert_fill(session, &record, 1, &options, &result, &error), BERT_OK);
    ck_assert_int_eq(result.status, BERT_RECORD);
    ck_assert_str_eq(result.error,
                     "450 masks are too much for one record with a list of 40000 words");
    bert_words_free(words);
    buffer_release(&list);
    buffer_release(&text);
}
END_TEST

/* A baseline divides: over the baseline's own text all words have the same share. */
START_TEST(test_baseline) {
    static const char *const text = "服务态度很[MASK]。";
    struct bert_text record = {.bytes = text, .length = strlen(text)};
    struct bert_words *words = NULL;
    struct bert_result result;
    static const char *const list = "好:满意,太阳;坏:一般";
    ck_assert_msg(
        bert_words_new(&words, model, list, strlen(list), false, text, &error) == BERT_OK,
        "%s", error.message);
    struct bert_fill_options options = {.words = words};
    ck_assert_int_eq(bert_fill(session, &record, 1, &options, &result, &error), BERT_OK);
    ck_assert_uint_eq(result.masks[0].candidate_count, 3);
    for (size_t i = 0; i < 3; i++)
        check_near(result.masks[0].candidates[i].share, 1. / 3, 1e-6, "share");
    ck_assert_uint_eq(result.masks[0].label_count, 2);
    ck_assert_str_eq(result.masks[0].labels[0].label, "好");
    check_near(result.masks[0].labels[0].share, 2. / 3, 1e-6, "label");
    bert_words_free(words);
    ck_assert_int_eq(
        bert_words_new(&words, model, list, strlen(list), false, "无", &error),
        BERT_USAGE);
    ck_assert_int_eq(
        bert_words_new(&words, model, list, strlen(list), false, "[MASK][MASK]", &error),
        BERT_USAGE);
}
END_TEST

/* ---- Suspects ---- */

START_TEST(test_suspects) {
    static const char *const text = "今天天气真好。";
    struct bert_text record = {.bytes = text, .length = strlen(text)};
    struct bert_score_options options = {.suspects = true, .gain = 1, .k = 2};
    struct bert_score score;
    ck_assert_int_eq(bert_score(session, &record, 1, &options, &score, &error), BERT_OK);
    ck_assert_uint_gt(score.suspect_count, 0);
    ck_assert_str_ne(score.corrected, text);
    ck_assert_uint_eq(score.corrected_length, record.length);
    for (size_t i = 0; i < score.suspect_count; i++) {
        const struct bert_suspect *suspect = &score.suspects[i];
        ck_assert(suspect->gain >= 1);
        ck_assert(i == 0 || suspect->gain <= score.suspects[i - 1].gain);
        ck_assert_uint_eq(suspect->length, 3);
        ck_assert_uint_ge(suspect->better_count, 1);
        check_near(suspect->gain,
                   log(suspect->better[0].probability) - log(suspect->probability), 1e-6,
                   "gain");
        ck_assert(strncmp(text + suspect->offset, suspect->better[0].word, 3) != 0);
    }
    options.gain = 50;
    ck_assert_int_eq(bert_score(session, &record, 1, &options, &score, &error), BERT_OK);
    ck_assert_uint_eq(score.suspect_count, 0);
    ck_assert_str_eq(score.corrected, text);
}
END_TEST

/* ---- Bad input ---- */

START_TEST(test_bad_options) {
    struct bert_text text = {.bytes = "[MASK]", .length = 6};
    struct bert_result result;
    struct bert_words *words = NULL;
    ck_assert_int_eq(bert_words_new(&words, model, "好", 3, false, NULL, &error),
                     BERT_OK);
    struct bert_fill_options bad[] = {{.k = -1},
                                      {.threshold = 2},
                                      {.threshold = NAN},
                                      {.span_min = 1},
                                      {.span_min = 2, .span_max = 1},
                                      {.span_min = 1, .span_max = 9},
                                      {.words = words, .joint = true},
                                      {.words = words, .span_min = 1, .span_max = 1},
                                      {.joint = true, .k = 257}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_int_eq(bert_fill(session, &text, 1, &bad[i], &result, &error),
                         BERT_USAGE);
    bert_words_free(words);
}
END_TEST

/* F02, F10 (joint and span need all of a text), F17 (an empty text is no accident). */
START_TEST(test_bad_texts) {
    struct buffer text = {0};
    struct bert_result result;
    struct bert_score score;
    struct bert_fill_options joint = {.joint = true},
                             span = {.span_min = 3, .span_max = 3};
    static const char *const bad[] = {"", "今天", "\xff[MASK]", "【MASK】"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct bert_text record = {.bytes = bad[i], .length = strlen(bad[i])};
        ck_assert_int_eq(bert_fill(session, &record, 1, NULL, &result, &error), BERT_OK);
        ck_assert_int_eq(result.status, BERT_RECORD);
        ck_assert_ptr_nonnull(result.error);
    }
    for (int i = 0; i < 508; i++)
        buffer_add_text(&text, "天");
    buffer_add_text(&text, "[MASK]");
    struct bert_text record = {.bytes = text.data, .length = text.size};
    ck_assert_int_eq(bert_fill(session, &record, 1, &joint, &result, &error), BERT_OK);
    ck_assert_int_eq(result.status, BERT_OK);
    ck_assert_int_eq(bert_fill(session, &record, 1, &span, &result, &error), BERT_OK);
    ck_assert_int_eq(result.status, BERT_RECORD);
    ck_assert_ptr_nonnull(strstr(result.error, "511 tokens"));
    record = (struct bert_text){.bytes = "今[MASK]", .length = 9};
    ck_assert_int_eq(bert_score(session, &record, 1, NULL, &score, &error), BERT_OK);
    ck_assert_int_eq(score.status, BERT_RECORD);
    buffer_release(&text);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("mlm");
    TCase *tests = tcase_create("tiny/f32");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, test_pipeline);
    tcase_add_test(tests, test_brute_force);
    tcase_add_test(tests, test_neighbours);
    tcase_add_test(tests, test_lists);
    tcase_add_test(tests, test_refused_words);
    tcase_add_test(tests, test_long_list_in_many_masks);
    tcase_add_test(tests, test_baseline);
    tcase_add_test(tests, test_suspects);
    tcase_add_test(tests, test_bad_options);
    tcase_add_test(tests, test_bad_texts);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
