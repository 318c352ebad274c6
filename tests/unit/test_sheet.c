/* SPDX-License-Identifier: MIT
 *
 * test_sheet.c: names of columns that cannot go out, also where there are very many. */
#include "service/sheet.h"

#include <check.h>

enum { MANY = 700000 };

/* Opens a sheet over a table with that header, for objects. */
static enum bert_status open_for(const struct buffer *header, struct bert_error *error) {
    struct records_options options = {.format = FORMAT_CSV};
    struct records *records;
    ck_assert_int_eq(
        records_open_memory(&records, header->data, header->size, &options, error),
        BERT_OK);
    struct sheet sheet = {.from = FORMAT_CSV, .prefix = ""};
    sheet.look = (struct sheet_look){.to = FORMAT_JSONL, .k = 1, .delimiter = ','};
    enum bert_status status = sheet_open(&sheet, records, error);
    sheet_release(&sheet);
    records_close(records);
    return status;
}

static void refused(const char *header, const char *why) {
    struct buffer text = {0};
    struct bert_error error = {0};
    buffer_add_text(&text, header);
    ck_assert_int_eq(open_for(&text, &error), BERT_USAGE);
    ck_assert_str_eq(error.message, why);
    buffer_release(&text);
}

START_TEST(names_that_an_object_cannot_have) {
    refused("a,b,ab,,b\n", "the column 'b' stands twice, which an object cannot have");
    refused("a,,b,\n", "the column '' stands twice, which an object cannot have");
    refused("a,fill\n",
            "the column 'fill' exists already; --prefix=STR gives ours other names");
}
END_TEST

/* Looking for equal names two by two would take minutes here. */
START_TEST(very_many_columns) {
    struct buffer text = {0};
    struct bert_error error = {0};
    for (int i = 0; i < MANY; i++)
        buffer_printf(&text, "%s%06d", i ? "," : "", i);
    buffer_add_byte(&text, '\n');
    ck_assert_int_eq(open_for(&text, &error), BERT_OK);
    buffer_release(&text);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("sheet");
    TCase *tests = tcase_create("names");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, names_that_an_object_cannot_have);
    tcase_add_test(tests, very_many_columns);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
