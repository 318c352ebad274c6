/* SPDX-License-Identifier: MIT
 *
 * test_text_vocab.c: vocabularies as people have them, the classes of entries, decoding,
 * and masks in user text. */
#include "text/mask.h"
#include "text/vocab.h"
#include "tokenizer_fixture.h"

static char notes[1000];
static void take_note(void *arg, const char *line) {
    size_t used = strlen(notes);
    snprintf(notes + used, sizeof notes - used, "%s\n", line);
}

static struct vocab open_vocab(const char *lines) {
    struct vocab vocab;
    struct bert_error error;
    notes[0] = '\0';
    ck_assert_msg(vocab_init(&vocab, span_of(lines), take_note, NULL, &error) == BERT_OK,
                  "%s", error.message);
    return vocab;
}

START_TEST(t30_blank_lines) {
    struct vocab vocab = open_vocab("A\n\nB\n");
    ck_assert_int_eq(vocab.count, 3);
    ck_assert_int_eq(vocab_find(&vocab, span_of("A")), 0);
    ck_assert_int_eq(vocab_find(&vocab, span_of("")), 1);
    ck_assert_int_eq(vocab_find(&vocab, span_of("B")), 2);
    ck_assert_int_eq(vocab_find(&vocab, span_of("C")), -1);
    ck_assert_str_eq(notes, "");
    vocab_release(&vocab);
    vocab = open_vocab("A\nB"); /* no final LF */
    ck_assert_int_eq(vocab.count, 2);
    ck_assert_str_eq(vocab_entry(&vocab, 1).data, "B");
    vocab_release(&vocab);
    vocab = open_vocab("a\u2028b\nc\vd\re\n"); /* only LF ends a line */
    ck_assert_int_eq(vocab.count, 2);
    vocab_release(&vocab);
}
END_TEST

START_TEST(t31_windows) {
    struct vocab vocab = open_vocab("\ufeff[PAD]\r\nx\r\n");
    ck_assert_int_eq(vocab_find(&vocab, span_of("[PAD]")), 0);
    ck_assert_int_eq(vocab_find(&vocab, span_of("x")), 1);
    ck_assert_ptr_nonnull(strstr(notes, "byte-order mark"));
    vocab_release(&vocab);
}
END_TEST

START_TEST(t32_doubles) {
    struct vocab vocab = open_vocab("x\nx\n");
    ck_assert_int_eq(vocab_find(&vocab, span_of("x")), 1);
    ck_assert_str_eq(vocab_entry(&vocab, 0).data, "x");
    ck_assert_ptr_nonnull(strstr(notes, "\"x\" stands twice; its last line, 2, counts"));
    vocab_release(&vocab);
    vocab = open_vocab("x\ny\nx\ny\n");
    ck_assert_ptr_nonnull(strstr(notes, "2 entries stand twice, the first in line 3"));
    vocab_release(&vocab);
}
END_TEST

START_TEST(refused_vocabularies) {
    static const struct {
        struct span lines;
        const char *why;
    } bad[] = {{{"", 0}, "the vocabulary is empty"},
               {{"\xef\xbb\xbf", 3}, "the vocabulary is empty"},
               {{"a\nb\xff\n", 5}, "vocabulary, line 2: not valid UTF-8"},
               {{"a\nb\nc\0d\n", 8}, "vocabulary, line 3: a NUL byte"},
               {{"\xe4\xb8", 2}, "vocabulary, line 1: not valid UTF-8"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct vocab vocab;
        struct bert_error error;
        ck_assert_int_eq(vocab_init(&vocab, bad[i].lines, NULL, NULL, &error),
                         BERT_MODEL);
        ck_assert_str_eq(error.message, bad[i].why);
        vocab_release(&vocab);
    }
    struct tokenizer_options options = {0};
    struct tokenizer *tokenizer;
    struct bert_error error;
    ck_assert_int_eq(
        tokenizer_new(&tokenizer, span_of("[UNK]\n[CLS]\n[SEP]\n"), &options, &error),
        BERT_MODEL);
    ck_assert_str_eq(error.message, "the vocabulary has no [MASK]");
}
END_TEST

/* T32 on the fast path: single characters take the last of their ids, too. */
START_TEST(double_characters) {
    struct tokenizer_options options = {false, false, true, NULL, NULL};
    struct tokenizer *tokenizer;
    ck_assert_int_eq(tokenizer_new(&tokenizer,
                                   span_of("[UNK]\n中\n[CLS]\n[SEP]\n[MASK]\n中"),
                                   &options, NULL),
                     BERT_OK);
    struct token_list list = fixture_run(tokenizer, "中", 3, NULL);
    ck_assert_int_eq(list.ids[0], 5);
    ck_assert_int_eq(tokenizer_special(tokenizer)->pad, -1);
    tokenizer_free(tokenizer);
}
END_TEST

static const char *classes_of(const char *entry) {
    static const char letters[ENTRY_CLASSES + 1] = "suhp#";
    static char found[ENTRY_CLASSES + 1];
    int32_t id = tokenizer_id(tokenizers[0], span_of(entry));
    size_t count = 0;
    ck_assert_msg(id >= 0, "%s", entry);
    for (int i = 0; i < ENTRY_CLASSES; i++)
        if (tokenizer_class(tokenizers[0], i)[id / 64] >> (id % 64) & 1)
            found[count++] = letters[i];
    found[count] = '\0';
    return found;
}

START_TEST(entry_classes) {
    ck_assert_str_eq(classes_of("[MASK]"), "s");
    ck_assert_str_eq(classes_of("[PAD]"), "s");
    ck_assert_str_eq(classes_of("[unused1]"), "u");
    ck_assert_str_eq(classes_of("<S>"), "u");
    ck_assert_str_eq(classes_of("中"), "h");
    ck_assert_str_eq(classes_of("##中"), "h#");
    ck_assert_str_eq(classes_of("〇"), "h");
    ck_assert_str_eq(classes_of("々"), "h");
    ck_assert_str_eq(classes_of("。"), "p");
    ck_assert_str_eq(classes_of("["), "p");
    ck_assert_str_eq(classes_of("$"), "p");
    ck_assert_str_eq(classes_of("♡"), "p");
    ck_assert_str_eq(classes_of("##♡"), "p#");
    ck_assert_str_eq(classes_of("a"), "");
    ck_assert_str_eq(classes_of("##a"), "#");
    ck_assert_str_eq(classes_of("か"), "");
    ck_assert_str_eq(classes_of("2019"), "");
}
END_TEST

static void check_decoded(const char *text, bool skip, bool clean_up,
                          const char *expected) {
    struct buffer out = {0};
    struct token_list list = fixture_run(tokenizers[1], text, strlen(text), NULL);
    ck_assert_int_eq(
        tokenizer_decode(tokenizers[1], list.ids, list.count, skip, clean_up, &out, NULL),
        BERT_OK);
    ck_assert_str_eq(buffer_text(&out), expected);
    buffer_release(&out);
}

/* As decode() of Hugging Face's tokenizers 0.23 answers. */
START_TEST(decoding) {
    check_decoded("don't do not he's we've", false, true,
                  "don ' t do not he ' s we ' ve");
    check_decoded("a . b , c ! d ? e", false, true, "a. b, c! d? e");
    check_decoded("a . b , c ! d ? e", false, false, "a . b , c ! d ? e");
    check_decoded("[CLS]apples好。ok[SEP]", true, true, "apples 好 。 ok");
    check_decoded("[CLS]apples好。ok[SEP]", false, true, "[CLS] apples 好 。 ok [SEP]");
    check_decoded("", false, true, "");
    struct buffer out = {0};
    static const int32_t piece[] = {8118, 8118}, bad[] = {100, 21128}, negative[] = {-1};
    struct bert_error error;
    tokenizer_decode(tokenizers[1], piece, 2, false, true, &out, NULL);
    ck_assert_str_eq(buffer_text(&out), "##ss"); /* nothing to join the first to */
    ck_assert_int_eq(tokenizer_decode(tokenizers[1], bad, 2, false, true, &out, &error),
                     BERT_RECORD);
    ck_assert_str_eq(error.message, "no token has id 21128: ids go from 0 to 21127");
    ck_assert_int_eq(
        tokenizer_decode(tokenizers[1], negative, 1, false, true, &out, &error),
        BERT_RECORD);
    buffer_release(&out);
}
END_TEST

/* Entries with blanks, as other vocabularies have them: the package cleans each token. */
START_TEST(decoding_replacements) {
    static const char lines[] =
        "[UNK]\n[CLS]\n[SEP]\n[MASK]\nn't\n'm\ndo not\n's\n've\n're\n"
        "a ' b .\n##x .y";
    static const int32_t ids[] = {4, 4, 5, 6, 7, 8, 9, 10, 11};
    struct tokenizer_options options = {0};
    struct tokenizer *tokenizer;
    struct buffer out = {0};
    ck_assert_int_eq(tokenizer_new(&tokenizer, span_of(lines), &options, NULL), BERT_OK);
    tokenizer_decode(tokenizer, ids, 9, false, true, &out, NULL);
    ck_assert_str_eq(buffer_text(&out), "n'tn't'm don't's've're a'b.x.y");
    buffer_release(&out);
    tokenizer_free(tokenizer);
}
END_TEST

START_TEST(masks) {
    static const char text[] = "我[MASK]你[MASK]";
    struct token_list list = fixture_run(tokenizers[0], text, strlen(text), NULL);
    struct mask_list found;
    ck_assert_int_eq(mask_find(tokenizers[0], &list, &arena, &found, NULL), BERT_OK);
    ck_assert_uint_eq(found.count, 2);
    ck_assert_uint_eq(found.places[1].token, 3);
    ck_assert_uint_eq(found.places[1].start, 12);
    ck_assert_uint_eq(found.places[1].end, 18);
    list = fixture_run(tokenizers[0], "我", 3, NULL);
    ck_assert_int_eq(mask_find(tokenizers[0], &list, &arena, &found, NULL), BERT_OK);
    ck_assert_uint_eq(found.count, 0);
}
END_TEST

/* T10, T11, T12: what looks like a mask is named. */
START_TEST(lookalikes) {
    static const char *const like[] = {"【MASK】",     "［MASK］",    "<mask>",
                                       "[mask]",       "[ MASK ]",    "[Mask]",
                                       "＜ｍａｓｋ＞", "【　mask　】"};
    static const char *const unlike[] = {"",      "[MASK]",  "mask", "[MASK",
                                         "MASK]", "[MASKS]", "[",    "【",
                                         "<mas>", "今天很好"};
    struct bert_error error;
    for (size_t i = 0; i < sizeof like / sizeof *like; i++) {
        char text[100];
        int size = snprintf(text, sizeof text, "今天[MASK%s很好", like[i]);
        struct span found = mask_lookalike(text, (size_t)size);
        ck_assert_msg(span_equal(found, span_of(like[i])), "%s", like[i]);
        ck_assert_int_eq(mask_missing(text, (size_t)size, &error), BERT_RECORD);
        ck_assert_ptr_nonnull(strstr(error.message, like[i]));
    }
    for (size_t i = 0; i < sizeof unlike / sizeof *unlike; i++)
        ck_assert_uint_eq(mask_lookalike(unlike[i], strlen(unlike[i])).size, 0);
    mask_missing("今天很好", 12, &error);
    ck_assert_str_eq(error.message, "no [MASK] in the text");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("text_vocab");
    TCase *all = tcase_create("vocab");
    tcase_add_unchecked_fixture(all, fixture_begin, fixture_end);
    tcase_add_test(all, t30_blank_lines);
    tcase_add_test(all, t31_windows);
    tcase_add_test(all, t32_doubles);
    tcase_add_test(all, refused_vocabularies);
    tcase_add_test(all, double_characters);
    tcase_add_test(all, entry_classes);
    tcase_add_test(all, decoding);
    tcase_add_test(all, decoding_replacements);
    tcase_add_test(all, masks);
    tcase_add_test(all, lookalikes);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
