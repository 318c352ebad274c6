/* SPDX-License-Identifier: MIT
 *
 * test_yaml.c: configuration files: what is read, and where the finger points when
 * something is wrong. */
#include "base/bytes.h"
#include "io/yaml.h"
#include "scratch.h"

#include <stdlib.h>

/* Writes each item as "SECTION.KEY=VALUE@LINE:COLUMN" with flags; refuses a key "bad" and
 * a value "bad". */
static enum bert_status note_item(void *arg, const struct yaml_item *item,
                                  enum yaml_part *culprit, struct bert_error *error) {
    if (strcmp(item->key, "bad") == 0 || strcmp(item->value, "bad") == 0) {
        *culprit = strcmp(item->key, "bad") == 0 ? YAML_KEY : YAML_VALUE;
        return error_set(error, BERT_USAGE, "refused");
    }
    if (item->section != NULL && strcmp(item->section, "worse") == 0) {
        *culprit = YAML_SECTION;
        return error_set(error, BERT_USAGE, "refused");
    }
    buffer_printf(arg, "%s.%s=%s@%zu:%zu%s%s%s\n", item->section ? item->section : "",
                  item->key, item->value, item->places[YAML_VALUE].line,
                  item->places[YAML_VALUE].column, item->quoted ? " quoted" : "",
                  item->listed ? " listed" : "", item->again ? " again" : "");
    return BERT_OK;
}

static enum bert_status read_bytes(const char *text, size_t size, struct buffer *items,
                                   struct bert_error *error) {
    scratch_write("config.yaml", text, size);
    char *path = scratch_path("config.yaml");
    enum bert_status status = yaml_read(path, note_item, items, error);
    free(path);
    return status;
}

static void check_read(const char *text, const char *expected) {
    struct buffer items = {0};
    struct bert_error error = {.message = ""};
    ck_assert_msg(read_bytes(text, strlen(text), &items, &error) == BERT_OK, "%s",
                  error.message);
    ck_assert_str_eq(buffer_text(&items), expected);
    buffer_release(&items);
}

static void check_refused_bytes(const char *text, size_t size, const char *place,
                                const char *why) {
    struct buffer items = {0};
    struct bert_error error = {.message = ""};
    char *path = scratch_path("config.yaml"), expected[200];
    ck_assert_int_eq(read_bytes(text, size, &items, &error), BERT_USAGE);
    snprintf(expected, sizeof expected, "%s:%s: ", path, place);
    ck_assert_msg(strncmp(error.message, expected, strlen(expected)) == 0 &&
                      strstr(error.message, why) != NULL,
                  "'%s' instead of '%s...%s'", error.message, expected, why);
    free(path);
    buffer_release(&items);
}

static void check_refused(const char *text, const char *place, const char *why) {
    check_refused_bytes(text, strlen(text), place, why);
}

START_TEST(values_come_with_their_places) {
    check_read("# comment\nmodel: 中文 模型\njobs: 2 # two\nquiet: true\n",
               ".model=中文 模型@2:8\n.jobs=2@3:7\n.quiet=true@4:8\n");
    check_read("a: \"5\"\nb: '5'\nc: 5\n",
               ".a=5@1:4 quoted\n.b=5@2:4 quoted\n.c=5@3:4\n");
    check_read("bert-fill:\n  top: 3\nbert-serve: {port: 80}\nx: y\n",
               "bert-fill.top=3@2:8\nbert-serve.port=80@3:20\n.x=y@4:4\n");
    check_read("m: [a, b]\nn:\n - c\n",
               ".m=a@1:5 listed\n.m=b@1:8 listed\n.n=c@3:4 listed\n");
    check_read("a: 1\na: 2\ns:\n a: 3\n", ".a=1@1:4\n.a=2@2:4 again\ns.a=3@4:5\n");
    check_read("empty:\n", ".empty=@1:7\n");
}
END_TEST

START_TEST(files_without_values_are_fine) {
    check_read("", "");
    check_read("# all commented out\n", "");
    check_read("---\n...\n", "");
    check_read("\xef\xbb\xbf"
               "a: 1\n",
               ".a=1@1:4\n");
}
END_TEST

START_TEST(errors_name_line_and_column) {
    check_refused("ok: 1\nbad: 2\n", "2:1", "refused");
    check_refused("ok: 1\nkey: bad\n", "2:6", "refused");
    check_refused("key: [ok, bad]\n", "1:11", "refused");
    check_refused("s:\n  key: bad\n", "2:8", "refused");
    check_refused("\nworse:\n\n  key: fine\n", "2:1", "refused");
    check_refused("- a\n", "1:1", "KEY: VALUE");
    check_refused("just words\n", "1:1", "KEY: VALUE");
    check_refused("a:\n  b:\n    c: 1\n", "3:5", "sections");
    check_refused("a: [[1]]\n", "1:5", "list");
    check_refused("a: &x 1\n", "1:4", "anchors");
    check_refused("a: !!str 1\n", "1:4", "tags");
    check_refused("? [a]\n: 1\n", "1:3", "key");
    check_refused("a: 1\n--- \nb: 2\n", "2:1", "second document");
    check_refused("a: \"x\\0y\"\n", "1:4", "NUL");
    check_refused("a: 1\n\tb: 2\n", "2:1", "");
    check_refused("a: \"unclosed\n", "2:1", "");
    check_refused("中: \xff\n", "1:4", "UTF-8");
}
END_TEST

/* Each key is compared with those before it: many must not take long. */
START_TEST(keys_are_bounded) {
    struct buffer text = {0}, items = {0};
    struct bert_error error;
    for (int i = 0; i < 1000; i++)
        buffer_printf(&text, "k%d:\n", i);
    ck_assert_int_eq(read_bytes(text.data, text.size, &items, &error), BERT_OK);
    buffer_add_text(&text, "one-more:\n");
    check_refused(buffer_text(&text), "1001:1", "more than 1000 keys");
    buffer_release(&text);
    buffer_release(&items);
}
END_TEST

START_TEST(files_that_cannot_be_read) {
    struct bert_error error;
    struct buffer items = {0};
    ck_assert_int_eq(yaml_read("/no/such.yaml", note_item, &items, &error), BERT_USAGE);
    ck_assert_str_eq(error.message, "/no/such.yaml: No such file or directory");
    ck_assert_int_eq(yaml_read("/dev", note_item, &items, &error), BERT_USAGE);
    char *big = calloc(1, (1 << 20) + 1);
    memset(big, '#', 1 << 20);
    ck_assert_int_eq(read_bytes(big, strlen(big), &items, &error), BERT_OK);
    big[0] = '\n';
    ck_assert_int_eq(read_bytes(big, (1 << 20) + 1, &items, &error), BERT_USAGE);
    free(big);
    buffer_release(&items);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("yaml");
    TCase *tcase = tcase_create("yaml");
    tcase_add_checked_fixture(tcase, scratch_begin, scratch_end);
    tcase_add_test(tcase, values_come_with_their_places);
    tcase_add_test(tcase, files_without_values_are_fine);
    tcase_add_test(tcase, errors_name_line_and_column);
    tcase_add_test(tcase, keys_are_bounded);
    tcase_add_test(tcase, files_that_cannot_be_read);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
