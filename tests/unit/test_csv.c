/* SPDX-License-Identifier: MIT
 *
 * test_csv.c: CSV and TSV through the reader of records: field cases V01 and V05 to V18,
 * byte-exact cells, and rows cut anywhere. */
#include "io/csv.h"
#include "io/records.h"
#include "io/tsv.h"

#include <check.h>

static struct records *records;
static struct record record;
static struct bert_error error;

static void open_as(enum record_format format, const char *bytes, size_t size,
                    size_t limit) {
    struct records_options options = {.format = format, .limit = limit};
    error = (struct bert_error){0};
    ck_assert_msg(records_open_memory(&records, bytes, size, &options, &error) == BERT_OK,
                  "%s", error.message);
}

static void open_csv(const char *text) {
    open_as(FORMAT_CSV, text, strlen(text), 0);
}

static void close_all(void) {
    records_close(records);
    record_release(&record);
}

static bool next(void) {
    bool end;
    ck_assert_int_eq(records_next(records, &record, &end, &error), BERT_OK);
    return !end;
}

static void check_span(struct span span, const char *expected) {
    ck_assert_msg(span_equal(span, span_of(expected)), "'%.*s' is not '%s'",
                  (int)span.size, span.data, expected);
}

static void check_good(size_t count) {
    ck_assert(next());
    ck_assert_msg(record.status == BERT_OK, "%s", record.error);
    ck_assert_uint_eq(record.count, count);
}

static void check_bad(uint64_t line, const char *why) {
    ck_assert(next());
    ck_assert_int_eq(record.status, BERT_RECORD);
    ck_assert_uint_eq(record.line, line);
    ck_assert_msg(strstr(record.error, why) != NULL, "%s", record.error);
}

START_TEST(v01_mark_is_not_part_of_the_first_name) {
    static const char *const inputs[] = {"\xef\xbb\xbftext,id\n中,1\n",
                                         "\xef\xbb\xbf\"text\",\"id\"\n\"中\",1\n"};
    for (int i = 0; i < 2; i++) {
        size_t cell = 9;
        open_csv(inputs[i]);
        ck_assert_int_eq(records_column(records, span_of("text"), &cell, NULL), BERT_OK);
        ck_assert_uint_eq(cell, 0);
        check_good(2);
        check_span(record.cells[0].value, "中");
        close_all();
    }
}
END_TEST

START_TEST(v05_open_quote_is_named_and_swallows_nothing) {
    open_csv("t\n\"a\nb\nc\n");
    check_bad(2, "never closed");
    check_span(record.cells[0].raw, "\"\"\"a\"");
    check_good(1);
    check_span(record.cells[0].value, "b");
    check_good(1);
    check_span(record.cells[0].value, "c");
    ck_assert(!next());
    close_all();
}
END_TEST

START_TEST(open_quote_is_named_by_its_own_line) {
    open_csv("a,b\n\"1\n2\",\"x\n3,4\n");
    check_bad(3, "never closed"); /* the row starts in line 2 */
    check_span(record.cells[0].raw, "\"1\n2\"");
    check_span(record.cells[1].value, "\"x");
    check_good(2);
    ck_assert_uint_eq(record.line, 4);
    close_all();
}
END_TEST

START_TEST(v06_blanks_belong_to_the_cell) {
    open_csv("a,b\n 中 ,x\n\t, \n");
    check_good(2);
    check_span(record.cells[0].value, " 中 ");
    check_good(2);
    check_span(record.cells[0].value, "\t");
    check_span(record.cells[1].value, " ");
    close_all();
}
END_TEST

START_TEST(v07_quotes_inside_unquoted_cells) {
    open_csv("a\n他说\"好\"[MASK]\n");
    check_good(1);
    check_span(record.cells[0].value, "他说\"好\"[MASK]");
    close_all();
    open_csv("a,b\n\"x\",\"y\"");
    check_good(2);
    check_span(record.cells[1].value, "y");
    check_span(record.cells[1].raw, "\"y\"");
    ck_assert_uint_eq(record.terminator.size, 0);
    close_all();
}
END_TEST

START_TEST(text_behind_a_closing_quote_swallows_nothing) {
    open_csv("a,b\n\"好\"吃,1\n2,\"3\"\n");
    check_bad(2, "behind a closing quote");
    check_span(record.cells[0].raw, "\"\"\"好\"\"吃,1\"");
    check_good(2);
    check_span(record.cells[1].value, "3");
    close_all();
}
END_TEST

START_TEST(v08_rows_too_short_and_too_long) {
    open_csv("a,b,c\n1,2\n1,2,3,\"4,\n\",5\n7,8,9\n");
    check_bad(2, "2 cells, but the header has 3");
    check_bad(3, "5 cells, but the header has 3; the surplus: \"4,\n\",5");
    ck_assert_uint_eq(record.count, 5);
    check_good(3);
    ck_assert_uint_eq(record.line, 5);
    close_all();
}
END_TEST

START_TEST(v09_nul_is_data) {
    static const char bytes[] = "a,b\n1,2\0,3\n1,2\0x\n";
    open_as(FORMAT_CSV, bytes, sizeof bytes - 1, 0);
    check_bad(2, "3 cells");
    check_good(2);
    ck_assert_uint_eq(record.cells[1].value.size, 3);
    ck_assert_mem_eq(record.cells[1].value.data, "2\0x", 3);
    close_all();
}
END_TEST

START_TEST(v11_line_breaks_in_quotes) {
    open_csv("t\n\"一\n二[MASK]\"\n\"a\r\nb\rc\"\r\nd\n");
    check_good(1);
    check_span(record.cells[0].value, "一\n二[MASK]");
    check_good(1);
    check_span(record.cells[0].value, "a\r\nb\rc");
    ck_assert_uint_eq(record.number, 2);
    ck_assert_uint_eq(record.line, 4);
    check_good(1);
    ck_assert_uint_eq(record.line, 7);
    close_all();
}
END_TEST

START_TEST(v13_empty_and_header_only) {
    struct records_progress progress;
    open_csv("");
    ck_assert(!next());
    records_progress(records, &progress);
    ck_assert(progress.empty);
    close_all();
    open_csv("t\n");
    ck_assert(!next());
    records_progress(records, &progress);
    ck_assert(!progress.empty);
    check_span(records_header(records)->raw, "t");
    close_all();
}
END_TEST

START_TEST(v15_names_with_commas_and_digits) {
    size_t cell;
    open_csv("\"标题,正文\",01,01\nx,y,z\n");
    ck_assert_int_eq(records_column(records, span_of("标题,正文"), &cell, NULL), BERT_OK);
    ck_assert_uint_eq(cell, 0);
    ck_assert_int_eq(records_column(records, span_of("01"), &cell, &error), BERT_USAGE);
    ck_assert_ptr_nonnull(strstr(error.message, "more than one"));
    ck_assert_int_eq(records_column(records, span_of("1"), &cell, &error), BERT_USAGE);
    ck_assert_ptr_nonnull(strstr(error.message, "标题,正文"));
    ck_assert_int_eq(records_column_number(records, 2, &cell, NULL), BERT_OK);
    ck_assert_uint_eq(cell, 1);
    ck_assert_int_eq(records_column_number(records, 4, &cell, NULL), BERT_USAGE);
    ck_assert_int_eq(records_column_number(records, 0, &cell, NULL), BERT_USAGE);
    ck_assert_int_eq(records_text_column(records, "", &cell, &error), BERT_USAGE);
    close_all();
}
END_TEST

START_TEST(v16_formulas) {
    static const char *const formulas[] = {"=cmd|x", "@x",    "\tx", "\rx", "-",
                                           "+a",     "-5.2x", "-1e", "=1"};
    static const char *const others[] = {"",     "a",   "-5",    "+1",
                                         "-5.2", "-.5", "+1e-9", "5=1"};
    for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++)
        ck_assert_msg(csv_is_formula(formulas[i], strlen(formulas[i])), "%s",
                      formulas[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert_msg(!csv_is_formula(others[i], strlen(others[i])), "%s", others[i]);
}
END_TEST

START_TEST(v18_quotes_only_where_needed) {
    static const char *const cases[][2] = {{" 2", " 2"},
                                           {"a b", "a b"},
                                           {"a,b", "\"a,b\""},
                                           {"a\"b", "\"a\"\"b\""},
                                           {"a\nb", "\"a\nb\""},
                                           {"\r", "\"\r\""},
                                           {"", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buffer out = {0};
        csv_put_cell(&out, cases[i][0], strlen(cases[i][0]), ',');
        ck_assert_str_eq(buffer_text(&out), cases[i][1]);
        buffer_release(&out);
    }
}
END_TEST

START_TEST(blank_lines) {
    open_csv("t\n\nx\n\n"); /* one column: an empty cell */
    check_good(1);
    check_span(record.cells[0].value, "");
    check_good(1);
    check_good(1);
    ck_assert(!next());
    close_all();
    open_csv("a,b\n\n1,2\n\n\n3,4\n");
    check_good(2);
    ck_assert_uint_eq(record.line, 3);
    check_good(2);
    ck_assert_uint_eq(record.line, 6);
    ck_assert(!next());
    close_all();
}
END_TEST

START_TEST(line_ends_are_kept) {
    open_csv("a,b\r\n1,2\r3,4\n5,\r\n6,7");
    check_span(records_header(records)->terminator, "\r\n");
    check_good(2);
    check_span(record.terminator, "\r");
    check_good(2);
    check_span(record.terminator, "\n");
    check_good(2);
    check_span(record.terminator, "\r\n");
    check_span(record.cells[1].raw, "");
    check_good(2);
    check_span(record.terminator, "");
    ck_assert_uint_eq(record.end, 20);
    close_all();
}
END_TEST

START_TEST(a_row_beyond_the_limit) {
    const char *text =
        "a,b\n1,xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n2,\"yyy\nzzz\nzzz\nzzz\n3,4\n";
    open_as(FORMAT_CSV, text, strlen(text), 16);
    check_bad(2, "longer than 16 bytes");
    ck_assert_uint_eq(record.count, 0);
    check_bad(3, "never closed");
    check_span(record.cells[0].raw, "2");
    for (int i = 0; i < 3; i++)
        check_bad(4 + (uint64_t)i, "1 cell, but");
    check_good(2);
    ck_assert_uint_eq(record.end, strlen(text));
    close_all();
}
END_TEST

START_TEST(invalid_utf8) {
    open_csv("a,b\n1,\xff\n2,\"x\"\"\xe4\xb8\"\n");
    check_bad(2, "invalid UTF-8 at byte 3");
    check_span(record.cells[1].raw, "\xff");
    close_all();
    struct records_options options = {
        .format = FORMAT_CSV, .replace_invalid = true, .source.encoding = ENCODING_UTF8};
    const char *text = "a,b\n1,\xff\n2,\"x\"\"\xe4\xb8\"\n";
    ck_assert_int_eq(records_open_memory(&records, text, strlen(text), &options, NULL),
                     0);
    check_good(2);
    check_span(record.cells[1].value, "\xef\xbf\xbd");
    check_span(record.cells[1].raw, "\xff");
    check_good(2);
    check_span(record.cells[1].value, "x\"\xef\xbf\xbd");
    close_all();
}
END_TEST

START_TEST(no_header) {
    struct records_options options = {.format = FORMAT_CSV, .no_header = true};
    ck_assert_int_eq(records_open_memory(&records, "1,2\n3\n", 6, &options, NULL),
                     BERT_OK);
    size_t cell;
    ck_assert_ptr_null(records_header(records));
    ck_assert_int_eq(records_column(records, span_of("2"), &cell, NULL), BERT_OK);
    ck_assert_uint_eq(cell, 1);
    check_good(2);
    ck_assert_uint_eq(record.number, 1);
    check_bad(2, "1 cell, but the first row has 2");
    ck_assert_uint_eq(record.number, 2);
    ck_assert(!next());
    close_all();
}
END_TEST

/* A broken one does not say how many columns there are. */
START_TEST(no_header_and_a_broken_first_row) {
    static const struct {
        const char *text, *why;
    } rows[] = {{"1,\"2,3\n4,5,6\n", "first row: a quote opened here is never closed"},
                {"1,\"2\"x,3\n4,5,6\n", "first row: text behind a closing quote"},
                {"1,23456789\n4,5,6\n", "first row: longer than 8 bytes"}};
    struct records_options options = {.format = FORMAT_CSV, .no_header = true};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        options.limit = i == 2 ? 8 : 0;
        ck_assert_int_eq(records_open_memory(&records, rows[i].text, strlen(rows[i].text),
                                             &options, &error),
                         BERT_USAGE);
        ck_assert_msg(strstr(error.message, rows[i].why) != NULL, "%s", error.message);
    }
    /* Its cells are all there: a record that fails, as any other. */
    options.limit = 0;
    ck_assert_int_eq(
        records_open_memory(&records, "1,\xff,3\n4,5,6\n", 12, &options, &error),
        BERT_OK);
    ck_assert_uint_eq(records_width(records), 3);
    check_bad(1, "invalid UTF-8 at byte 3");
    check_good(3);
    ck_assert(!next());
    close_all();
}
END_TEST

START_TEST(tsv_cells) {
    const char *text = "a\tb\nx\\ty\\\\z\\q\t\"2\"\n1\t2\t3\n";
    open_as(FORMAT_TSV, text, strlen(text), 0);
    check_good(2);
    check_span(record.cells[0].raw, "x\\ty\\\\z\\q");
    check_span(record.cells[0].value, "x\ty\\z\\q");
    check_span(record.cells[1].value, "\"2\"");
    check_bad(3, "3 cells, but the header has 2; the surplus: 3");
    close_all();
    struct buffer out = {0};
    tsv_put_cell(&out, "\tx\n\r\\y", 7);
    ck_assert_str_eq(buffer_text(&out), "\\tx\\n\\r\\\\y");
    buffer_release(&out);
}
END_TEST

/* The same rows wherever the window happens to end. */
START_TEST(cut_anywhere) {
    const char *text = "a,\"b\"\"\n,\"\r\n,\"\"\r\"x\",y\"z\n\n\"\",\"q\"";
    size_t size = strlen(text);
    struct csv csv;
    ck_assert_int_eq(csv_open(&csv, ',', NULL), BERT_OK);
    for (size_t cut = 1; cut < size; cut++) {
        size_t at = 0, cells = 0, rows = 0;
        while (at < size) {
            size_t window = cut < size - at ? cut : size - at;
            enum csv_state state;
            while ((state = csv_row(&csv, (struct span){text + at, window},
                                    at + window == size)) == CSV_MORE)
                window++;
            ck_assert_int_eq(state, CSV_ROW);
            cells += csv.count;
            rows++;
            at += csv.size + csv.terminator;
        }
        ck_assert_uint_eq(rows, 5);
        ck_assert_uint_eq(cells, 8);
        ck_assert_uint_eq(at, size);
    }
    csv_close(&csv);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("csv");
    TCase *tests = tcase_create("csv");
    tcase_add_test(tests, v01_mark_is_not_part_of_the_first_name);
    tcase_add_test(tests, v05_open_quote_is_named_and_swallows_nothing);
    tcase_add_test(tests, open_quote_is_named_by_its_own_line);
    tcase_add_test(tests, v06_blanks_belong_to_the_cell);
    tcase_add_test(tests, v07_quotes_inside_unquoted_cells);
    tcase_add_test(tests, text_behind_a_closing_quote_swallows_nothing);
    tcase_add_test(tests, v08_rows_too_short_and_too_long);
    tcase_add_test(tests, v09_nul_is_data);
    tcase_add_test(tests, v11_line_breaks_in_quotes);
    tcase_add_test(tests, v13_empty_and_header_only);
    tcase_add_test(tests, v15_names_with_commas_and_digits);
    tcase_add_test(tests, v16_formulas);
    tcase_add_test(tests, v18_quotes_only_where_needed);
    tcase_add_test(tests, blank_lines);
    tcase_add_test(tests, line_ends_are_kept);
    tcase_add_test(tests, a_row_beyond_the_limit);
    tcase_add_test(tests, invalid_utf8);
    tcase_add_test(tests, no_header);
    tcase_add_test(tests, no_header_and_a_broken_first_row);
    tcase_add_test(tests, tsv_cells);
    tcase_add_test(tests, cut_anywhere);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
