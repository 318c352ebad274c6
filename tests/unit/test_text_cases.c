/* SPDX-License-Identifier: MIT
 *
 * test_text_cases.c: the field cases of the tokenizer by number, special tokens, aliases
 * and the other settings. */
#include "tokenizer_fixture.h"

static const struct {
    const char *number;
    int lower; /* 2: both */
    const char *text, *tokens;
} cases[] = {
    {"T02", 0, "AAA", "[UNK]"},
    {"T02", 1, "AAA", "aaa"},
    {"T02", 0, "Apples是", "[UNK] 是"},
    {"T02", 1, "Apples是", "apple ##s 是"},
    {"T03", 0, "T恤", "[UNK] 恤"},
    {"T03", 1, "T恤", "t 恤"},
    {"T06", 0, "\uf900\U0002f800\u0387\u2329", "[UNK] [UNK] [UNK] [UNK]"},
    {"T06", 1, "\uf900\U0002f800\u0387\u2329", "豈 丽 · 〈"},
    {"T06", 2, "\ufa0e", "[UNK]"},
    {"T07", 2, "重刋道", "重 [UNK] 道"},
    {"T07", 2, "渀", "[UNK]"},
    {"T07", 2, "𠮷野家", "[UNK] 野 家"},
    {"T08", 2, "“你好”", "[UNK] 你 好 [UNK]"},
    {"T08", 2, "……", "[UNK] [UNK]"},
    {"T08", 2, "——", "[UNK] [UNK]"},
    {"T09", 2, "##中", "# # 中"},
    {"T10", 2, "中[MASK]国", "中 [MASK] 国"},
    {"T10", 2, "[mask]", "[ ma ##sk ]"},
    {"T10", 0, "[ MASK ]", "[ [UNK] ]"},
    {"T10", 1, "[ MASK ]", "[ ma ##sk ]"},
    {"T10", 2, "[[MASK]]", "[ [MASK] ]"},
    {"T11", 0, "【MASK】", "【 [UNK] 】"},
    {"T11", 1, "【MASK】", "【 ma ##sk 】"},
    {"T11", 0, "［MASK］", "［ [UNK] ］"},
    {"T11", 1, "［MASK］", "［ ma ##sk ］"},
    {"T12", 2, "今天<mask>很好", "今 天 < ma ##sk > 很 好"},
    {"T14", 2, "中[SEP]国", "中 [SEP] 国"},
    {"T14", 2, "[PAD]", "[PAD]"},
    {"T14", 2, "[CLS]你", "[CLS] 你"},
    {"T15", 2, "[unused1]", "[ u ##nus ##ed ##1 ]"},
    {"T15", 0, "<S>", "< [UNK] >"},
    {"T15", 1, "<S>", "< s >"},
    {"T16", 2, "\U0001fae8", "[UNK]"},
    {"T16", 2, "😀", "[UNK]"},
    {"T17", 2, "💩💩💩", "[UNK]"},
    {"T17", 2, "💩 💩", "[UNK] [UNK]"},
    {"T18", 2, "投票♡♡", "投 票 ♡ ##♡"},
    {"T18", 2, "vote♡♡", "v ##ot ##e ##♡ ##♡"},
    {"T21", 1, "café", "cafe"},
    {"T21", 0, "café", "[UNK]"},
    {"T21", 1, "cafe\u0301", "cafe"},
    {"T21", 0, "cafe\u0301", "[UNK]"},
    {"T21", 1, "中\u0301国", "中 国"},
    {"T21", 0, "中\u0301国", "中 [UNK] 国"},
    {"T23", 1, "が", "か"},
    {"T23", 0, "が", "[UNK]"},
    {"T23", 1, "ありがとう", "あり ##か ##とう"},
    {"T23", 0, "ありがとう", "[UNK]"},
    {"T24", 1, "한국", "ᄒ ##ᅡ ##ᆫ ##ᄀ ##ᅮ ##ᆨ"},
    {"T24", 0, "한국", "[UNK]"},
    {"T25", 1, "lǜshi", "lu ##shi"},
    {"T25", 1, "Kantō", "ka ##nt ##o"},
    {"T27", 2, "１２３", "１２ ##３"},
    {"T27", 0, "ＡＢＣ", "[UNK]"},
    {"T27", 1, "ＡＢＣ", "ａ ##ｂ ##ｃ"},
    {"T27", 0, "Ⅳ", "[UNK]"},
    {"T27", 1, "Ⅳ", "ⅳ"},
    {"T27", 2, "①②", "① ##②"},
    {"T28", 2, "東京", "東 京"},
    {"T28", 2, "東 京", "東 京"},
    {"T28", 2, "東\u3000京", "東 京"},
    {"T38", 2, "\ue000", ""},
    {"T38", 2, "\u0378", "[UNK]"},
    {"empty", 2, "", ""},
    {"blank", 2, " \t\r\n\u3000", ""},
};

START_TEST(field_case) {
    for (int lower = 0; lower < 2; lower++) {
        if (cases[_i].lower != 2 && cases[_i].lower != lower)
            continue;
        const char *text = cases[_i].text;
        struct token_list list = fixture_run(tokenizers[lower], text, strlen(text), NULL);
        const char *line = fixture_line(tokenizers[lower], &list);
        ck_assert_msg(strcmp(line, cases[_i].tokens) == 0, "%s, lower_case %d: %s → %s",
                      cases[_i].number, lower, text, line);
    }
}
END_TEST

START_TEST(t01_ids) {
    static const char text[] = "哦我";
    struct token_list list = fixture_run(tokenizers[0], text, strlen(text), NULL);
    ck_assert_uint_eq(list.count, 2);
    ck_assert_int_eq(list.ids[0], 1521);
    ck_assert_int_eq(list.ids[1], 2769);
    ck_assert_int_eq(tokenizer_size(tokenizers[0]), 21128);
    ck_assert_int_eq(tokenizer_id(tokenizers[0], span_of("\u2028")), 343);
    ck_assert_int_eq(tokenizer_id(tokenizers[0], span_of("##\u2028")), 13502);
}
END_TEST

/* T14: with literal no text gives a special id. */
START_TEST(t14_literal) {
    static const struct tokenize_options literal = {.literal = true};
    static const char text[] = "中[SEP]国[MASK]";
    struct token_list list = fixture_run(tokenizers[0], text, strlen(text), &literal);
    ck_assert_str_eq(fixture_line(tokenizers[0], &list), "中 [ [UNK] ] 国 [ [UNK] ]");
    ck_assert_uint_eq(list.unknown, 2);
    list = fixture_run(tokenizers[1], text, strlen(text), &literal);
    ck_assert_str_eq(fixture_line(tokenizers[1], &list), "中 [ sep ] 国 [ ma ##sk ]");
    ck_assert_uint_eq(list.unknown, 0);
}
END_TEST

START_TEST(t37_offsets) {
    static const char naive[] = "naïve [MASK]", zero[] = "a\u200bb国";
    struct token_list list = fixture_run(tokenizers[1], naive, strlen(naive), NULL);
    ck_assert_str_eq(fixture_line(tokenizers[1], &list), "na ##ive [MASK]");
    ck_assert_uint_eq(list.starts[1], 2);
    ck_assert_uint_eq(list.ends[1], 6);
    ck_assert_uint_eq(list.starts[2], 7);
    ck_assert_uint_eq(list.ends[2], 13);
    list = fixture_run(tokenizers[1], zero, strlen(zero), NULL);
    ck_assert_str_eq(fixture_line(tokenizers[1], &list), "ab 国");
    ck_assert_uint_eq(list.ends[0], 5);
    ck_assert_uint_eq(list.starts[1], 5);
}
END_TEST

/* NUL is data, and dropped. */
START_TEST(nul_bytes) {
    struct token_list list = fixture_run(tokenizers[0], "中\0国", 7, NULL);
    ck_assert_str_eq(fixture_line(tokenizers[0], &list), "中 国");
    ck_assert_uint_eq(list.starts[1], 4);
}
END_TEST

/* A hundred characters are a word, one more is unknown. */
START_TEST(word_length) {
    char text[102];
    memset(text, '1', sizeof text);
    struct token_list list = fixture_run(tokenizers[0], text, 100, NULL);
    ck_assert_uint_gt(list.count, 1);
    ck_assert_uint_eq(list.unknown, 0);
    list = fixture_run(tokenizers[0], text, 101, NULL);
    ck_assert_uint_eq(list.count, 1);
    ck_assert_uint_eq(list.unknown, 1);
    ck_assert_uint_eq(list.ends[0], 101);
}
END_TEST

START_TEST(aliases) {
    static const char *const tokens[] = {"【MASK】", "___", "[MASK]!", "", "_"};
    static const struct tokenize_options options = {.mask_tokens = tokens,
                                                    .mask_token_count = 5};
    static const char text[] = "你【MASK】好____[MASK]![MASK]?";
    struct token_list list = fixture_run(tokenizers[0], text, strlen(text), &options);
    ck_assert_str_eq(fixture_line(tokenizers[0], &list),
                     "你 [MASK] 好 [MASK] [MASK] [MASK] [MASK] ?");
    ck_assert_uint_eq(list.starts[1], 3);
    ck_assert_uint_eq(list.ends[1], 13);
    ck_assert_uint_eq(list.ends[3] - list.starts[3], 3); /* the longest at its place */
    ck_assert_uint_eq(list.ends[5] - list.starts[5], 7);
}
END_TEST

START_TEST(settings) {
    static const char text[] = "中国É";
    struct tokenizer *tokenizer = fixture_tokenizer(true, false, true);
    struct token_list list = fixture_run(tokenizer, text, strlen(text), NULL);
    ck_assert_str_eq(fixture_line(tokenizer, &list), "中 国 [UNK]"); /* é is no entry */
    tokenizer_free(tokenizer);
    tokenizer = fixture_tokenizer(true, true, false);
    list = fixture_run(tokenizer, text, strlen(text), NULL);
    ck_assert_str_eq(fixture_line(tokenizer, &list), "中 ##国 ##e");
    tokenizer_free(tokenizer);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("text_cases");
    TCase *table = tcase_create("field cases");
    tcase_add_unchecked_fixture(table, fixture_begin, fixture_end);
    tcase_add_loop_test(table, field_case, 0, (int)(sizeof cases / sizeof *cases));
    tcase_add_test(table, t01_ids);
    tcase_add_test(table, t14_literal);
    tcase_add_test(table, t37_offsets);
    tcase_add_test(table, nul_bytes);
    tcase_add_test(table, word_length);
    tcase_add_test(table, aliases);
    tcase_add_test(table, settings);
    suite_add_tcase(suite, table);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
