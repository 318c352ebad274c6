/* SPDX-License-Identifier: MIT
 *
 * test_tokenizer.c: the tokenizer against Hugging Face's answers: texts with tokens, ids
 * and offsets, and every Unicode scalar value, in both case settings. */
#include "io/json.h"
#include "base/utf8.h"
#include "tokenizer_fixture.h"

/* Bytes of the first so many code points. */
static size_t bytes_of(struct span text, int64_t codepoints) {
    size_t at = 0;
    for (; codepoints > 0; codepoints--) {
        ck_assert_uint_lt(at, text.size);
        do
            at++;
        while (at < text.size && ((unsigned char)text.data[at] & 0xc0) == 0x80);
    }
    return at;
}

static int64_t whole(const struct json *value) {
    int64_t result = -1;
    ck_assert(json_get_whole(value, &result));
    return result;
}

static void check_golden_line(const char *line, size_t size) {
    struct json *golden;
    struct bert_error error;
    struct span text, token;
    bool lower;
    ck_assert_msg(json_parse(&golden, line, size, 0, &error) == BERT_OK, "%s",
                  error.message);
    ck_assert(json_get_text(json_member(golden, "text"), &text));
    ck_assert(json_get_bool(json_member(golden, "lower_case"), &lower));
    const struct json *tokens = json_member(golden, "tokens");
    const struct json *ids = json_member(golden, "ids");
    const struct json *offsets = json_member(golden, "offsets");
    struct token_list list = fixture_run(tokenizers[lower], text.data, text.size, NULL);
    ck_assert_msg(list.count == json_count(ids), "%s: %zu tokens", line, list.count);
    for (size_t i = 0; i < list.count; i++) {
        const struct json *pair = json_item(offsets, i);
        ck_assert(json_get_text(json_item(tokens, i), &token));
        ck_assert_msg(whole(json_item(ids, i)) == list.ids[i], "%s", line);
        ck_assert_str_eq(token.data, tokenizer_entry(tokenizers[lower], list.ids[i]));
        ck_assert_msg(list.starts[i] == bytes_of(text, whole(json_item(pair, 0))), "%s",
                      line);
        ck_assert_msg(list.ends[i] == bytes_of(text, whole(json_item(pair, 1))), "%s",
                      line);
    }
    json_free(golden);
}

START_TEST(golden_texts) {
    FILE *file = fopen("tests/golden/tokens.jsonl", "r");
    char *line = NULL;
    size_t room = 0, count = 0;
    ssize_t size;
    ck_assert_ptr_nonnull(file);
    for (; (size = getline(&line, &room, file)) > 0; count++)
        check_golden_line(line, (size_t)size);
    ck_assert_uint_eq(count, 240);
    free(line);
    fclose(file);
}
END_TEST

/* "a c b U+4E2D c U+56FD" without the blanks. */
static size_t around(uint32_t codepoint, char text[20]) {
    size_t size = 0;
    text[size++] = 'a';
    size += utf8_encode(codepoint, text + size);
    text[size++] = 'b';
    size += utf8_encode(0x4e2d, text + size);
    size += utf8_encode(codepoint, text + size);
    size += utf8_encode(0x56fd, text + size);
    return size;
}

static void check_range(uint32_t first, uint32_t last, int lower, const int32_t *ids,
                        size_t count) {
    for (uint32_t c = first; c <= last; c++) {
        char text[20];
        size_t size = around(c, text);
        arena_reset(&arena);
        struct token_list list = fixture_run(tokenizers[lower], text, size, NULL);
        if (list.count != count || memcmp(list.ids, ids, count * sizeof *ids) != 0)
            ck_abort_msg("U+%04X lower_case %d: %s", c, lower,
                         fixture_line(tokenizers[lower], &list));
        for (size_t i = 0; i < count; i++)
            if (list.starts[i] >= list.ends[i] || list.ends[i] > size ||
                (i > 0 && list.starts[i] < list.starts[i - 1]))
                ck_abort_msg("U+%04X lower_case %d: offsets", c, lower);
    }
}

START_TEST(golden_codepoints) {
    FILE *rows = popen("xz -dc tests/golden/codepoints.tsv.xz", "r");
    char line[1000];
    size_t checked[2] = {0};
    ck_assert_ptr_nonnull(rows);
    while (fgets(line, sizeof line, rows) != NULL) {
        uint32_t first, last;
        int lower, used;
        int32_t ids[64];
        size_t count = 0;
        if (line[0] == '#')
            continue;
        ck_assert_int_eq(sscanf(line, "%x\t%x\t%d%n", &first, &last, &lower, &used), 3);
        for (char *at = line + used, *end;; at = end) {
            long id = strtol(at, &end, 10);
            if (end == at)
                break;
            ck_assert_uint_lt(count, 64);
            ids[count++] = (int32_t)id;
        }
        check_range(first, last, lower, ids, count);
        checked[lower] += last - first + 1;
    }
    ck_assert_msg(pclose(rows) == 0, "xz (package xz-utils) is needed");
    ck_assert_uint_eq(checked[0], 0x110000 - 2048);
    ck_assert_uint_eq(checked[1], 0x110000 - 2048);
}
END_TEST

/* T19: how many give no token at all. */
START_TEST(t19_empty_codepoints) {
    size_t empty[2] = {0};
    for (uint32_t c = 0; c < 0x110000; c++) {
        char text[4];
        if (c >= 0xd800 && c < 0xe000)
            continue;
        size_t size = utf8_encode(c, text);
        for (int lower = 0; lower < 2; lower++) {
            arena_reset(&arena);
            empty[lower] += fixture_run(tokenizers[lower], text, size, NULL).count == 0;
        }
    }
    ck_assert_uint_eq(empty[0], 137703);
    ck_assert_uint_eq(empty[1], 139270);
}
END_TEST

/* Bytes that are no UTF-8 break the contract, and still nothing is read or written
 * outside the text. */
START_TEST(invalid_bytes_do_no_harm) {
    static const char *const ends[] = {"中\xe4\xb8", "中\xf0\x9f\x98", "\xff\xfe\x80",
                                       "\xc3",       "中\xed\xa0\x80", "\xf7\xbf\xbf\xbf",
                                       "\xe4"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t size = strlen(ends[i]);
        char *exact = malloc(size); /* so that a sanitizer sees a byte too many */
        memcpy(exact, ends[i], size);
        for (int lower = 0; lower < 2; lower++) {
            struct token_list list = fixture_run(tokenizers[lower], exact, size, NULL);
            for (size_t t = 0; t < list.count; t++)
                ck_assert_uint_le(list.ends[t], size);
        }
        free(exact);
    }
}
END_TEST

/* Long inputs: a word of a million letters, a million marks to sort, 100000 masks. */
START_TEST(long_inputs) {
    enum { MANY = 1000000 };
    char *text = malloc(4 * MANY);
    memset(text, 'a', MANY);
    struct token_list list = fixture_run(tokenizers[0], text, MANY, NULL);
    ck_assert_uint_eq(list.count, 1);
    ck_assert_int_eq(list.ids[0], tokenizer_special(tokenizers[0])->unknown);
    ck_assert_uint_eq(list.ends[0], MANY);

    for (size_t i = 0; i < MANY; i++)
        memcpy(text + 4 * i, i % 2 ? "\U0001d165" : "\U0001d16d", 4);
    list = fixture_run(tokenizers[1], text, 4 * (size_t)MANY, NULL);
    ck_assert_uint_eq(list.count, 1);

    for (size_t i = 0; i < 100000; i++)
        memcpy(text + 6 * i, "[MASK]", 6);
    list = fixture_run(tokenizers[1], text, 600000, NULL);
    ck_assert_uint_eq(list.count, 100000);
    ck_assert_uint_eq(list.starts[99999], 599994);
    free(text);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("tokenizer");
    TCase *cases = tcase_create("golden");
    tcase_set_timeout(cases, 300);
    tcase_add_unchecked_fixture(cases, fixture_begin, fixture_end);
    tcase_add_test(cases, golden_texts);
    tcase_add_test(cases, golden_codepoints);
    tcase_add_test(cases, t19_empty_codepoints);
    tcase_add_test(cases, invalid_bytes_do_no_harm);
    tcase_add_test(cases, long_inputs);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
