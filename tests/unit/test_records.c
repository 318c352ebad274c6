/* SPDX-License-Identifier: MIT
 *
 * test_records.c: sources (encodings, waiting, stopping), text and JSON lines, several
 * files, hashes, JSON itself, and progress. */
#include "io/json.h"
#include "io/progress.h"
#include "io/records.h"

#include "scratch.h"

#include <math.h>
#include <time.h>

static struct records *records;
static struct record record;
static struct bert_error error;

static void open_bytes(const char *bytes, size_t size, enum record_format format) {
    struct records_options options = {.format = format};
    ck_assert_int_eq(records_open_memory(&records, bytes, size, &options, &error),
                     BERT_OK);
}

static bool next(void) {
    bool end;
    enum bert_status status = records_next(records, &record, &end, &error);
    ck_assert_msg(status == BERT_OK, "%s", error.message);
    return !end;
}

static void check_value(const char *expected) {
    ck_assert(next());
    ck_assert_msg(!record.status, "%s", record.error);
    ck_assert_msg(span_equal(record.cells[0].value, span_of(expected)), "%.*s",
                  (int)record.cells[0].value.size, record.cells[0].value.data);
}

static void close_all(void) {
    records_close(records);
    record_release(&record);
}

/* ---- Encodings ------------------------------------------------------------------- */

static const char gbk[] =
    "\xce\xc4\xb1\xbe\r\n\xbd\xf1\xcc\xec[MASK]\r\n"; /* 文本 今天 */

START_TEST(v02_gbk_is_found_after_utf8) {
    open_bytes(gbk, sizeof gbk - 1, FORMAT_TEXT);
    check_value("文本");
    check_value("今天[MASK]");
    ck_assert_int_eq(record.encoding, ENCODING_GB18030);
    close_all();
    struct buffer mostly = {0}; /* a bad byte among 200 good characters is UTF-8 */
    for (int i = 0; i < 200; i++)
        buffer_add_text(&mostly, "天");
    buffer_add_text(&mostly, "\n\xff\n天");
    open_bytes(mostly.data, mostly.size, FORMAT_TEXT);
    ck_assert(next());
    ck_assert_int_eq(record.status, BERT_OK);
    ck_assert(next());
    ck_assert_int_eq(record.status, BERT_RECORD);
    check_value("天");
    close_all();
    buffer_release(&mostly);
}
END_TEST

START_TEST(guesses) {
    static const struct {
        const char *text;
        enum encoding encoding;
    } cases[] = {{"", ENCODING_UTF8},
                 {"\xe4\xb8\xad\xe5\x9b", ENCODING_UTF8}, /* cut */
                 {"\xd6\xd0\xb9", ENCODING_GB18030},      /* cut */
                 {"\x81\x30\x81\x30", ENCODING_GB18030},  /* four bytes */
                 {"caf\xe9 \xff", ENCODING_UTF8}};        /* neither */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_int_eq(encoding_guess(cases[i].text, strlen(cases[i].text)),
                         cases[i].encoding);
}
END_TEST

START_TEST(decides_on_the_first_bytes_beyond_ascii) {
    struct buffer text = {0};
    for (int i = 0; i < 50000; i++) /* more than one read of ASCII first */
        buffer_add_text(&text, "0123456789\n");
    buffer_add(&text, gbk, sizeof gbk - 1);
    open_bytes(text.data, text.size, FORMAT_TEXT);
    for (int i = 0; i < 50000; i++)
        ck_assert(next());
    check_value("文本");
    close_all();
    buffer_release(&text);
}
END_TEST

START_TEST(bytes_that_are_no_gb18030_fail_their_record) {
    static const char bytes[] = "\xce\xc4\xb1\xbe\n\xbd\xff\n\xbd\xf1";
    struct records_options options = {.source.encoding = ENCODING_GB18030};
    ck_assert_int_eq(
        records_open_memory(&records, bytes, sizeof bytes - 1, &options, NULL), BERT_OK);
    check_value("文本");
    ck_assert(next());
    ck_assert_int_eq(record.status, BERT_RECORD);
    check_value("今");
    close_all();
}
END_TEST

START_TEST(utf16_is_refused_by_name) {
    static const struct {
        const char *bytes;
        size_t size;
        const char *name;
    } cases[] = {{"\xff\xfe"
                  "a\0",
                  4, "UTF-16 (little"},
                 {"\xfe\xff\0a", 4, "UTF-16 (big"},
                 {"\xff\xfe\0\0", 4, "UTF-32"},
                 {"a\0,\0b\0\n\0"
                  "1\0,\0"
                  "2\0\n\0",
                  16, "UTF-16 (little"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct records_options options = {.format = FORMAT_CSV};
        ck_assert_int_eq(records_open_memory(&records, cases[i].bytes, cases[i].size,
                                             &options, &error),
                         BERT_USAGE);
        ck_assert_msg(strstr(error.message, cases[i].name) != NULL, "%s", error.message);
    }
}
END_TEST

/* ---- Pipes ----------------------------------------------------------------------- */

static int pipe_ends[2], stop_ends[2], waits;

static void count_wait(void *arg) {
    waits++;
    const char *const *script = arg;
    if (script[waits - 1])
        ck_assert_int_gt(
            write(pipe_ends[1], script[waits - 1], strlen(script[waits - 1])), 0);
    else
        ck_assert_int_eq(write(stop_ends[1], "", 1), 1);
}

START_TEST(tells_when_input_waits_and_ends_when_told) {
    static const char *const script[] = {"一\n二", "\n\xe4", "\xb8\x89\nhalf", NULL};
    ck_assert_int_eq(pipe(pipe_ends) | pipe(stop_ends), 0);
    ck_assert_int_eq(dup2(pipe_ends[0], STDIN_FILENO), STDIN_FILENO);
    struct records_options options = {.source = {.waiting = count_wait,
                                                 .waiting_arg = (void *)(uintptr_t)script,
                                                 .stop_fd = stop_ends[0]}};
    ck_assert_int_eq(records_open(&records, NULL, 0, &options, NULL), BERT_OK);
    ck_assert_int_eq(waits, 0);
    check_value("一");
    ck_assert_int_eq(waits, 1);
    check_value("二");
    ck_assert_int_eq(waits, 2);
    check_value("三");
    ck_assert_int_eq(waits, 3);
    ck_assert_ptr_null(record.file);
    ck_assert(!next()); /* half a line at a stop is no record */
    struct records_progress progress;
    records_progress(records, &progress);
    ck_assert(progress.stopped);
    ck_assert_uint_eq(record.end, 12);
    close_all();
}
END_TEST

/* ---- Formats --------------------------------------------------------------------- */

START_TEST(text_lines) {
    open_bytes("a\r\n\nb\rc", 7, FORMAT_TEXT);
    check_value("a");
    ck_assert_uint_eq(record.terminator.size, 2);
    check_value("");
    check_value("b\rc");
    ck_assert_uint_eq(record.line, 3);
    ck_assert_uint_eq(record.terminator.size, 0);
    ck_assert(!next());
    size_t cell;
    ck_assert_int_eq(records_column(records, span_of("text"), &cell, NULL), BERT_OK);
    ck_assert_int_eq(records_column(records, span_of("x"), &cell, NULL), BERT_USAGE);
    close_all();
}
END_TEST

START_TEST(json_lines) {
    static const struct {
        const char *line, *value; /* of text; or why */
        bool bad;
    } cases[] = {
        {"{\"text\":\"中\\u0001\\ud83d\\ude00\"}", "中\x01😀", false},
        {" {\"a\":{\"text\":1},\"text\":\"\"} ", "", false},
        {"{\"text\":12345678901234567890,\"b\":1}", "12345678901234567890", false},
        {"{\"text\":-7}", "-7", false},
        {"{\"text\":true}", "true", false},
        {"{\"txt\":\"x\"}", "no member 'text'", true},
        {"{\"text\":null}", "member 'text' is null, not a text", true},
        {"{\"text\":[1]}", "member 'text' is a list, not a text", true},
        {"[1]", "a list, not an object", true},
        {"{\"text\":\"x\"", "line 1 column 11", true},
        {"{\"text\":\"x\",\"text\":\"y\"}", "duplicate", true},
        {"{\"text\":\"\xff\"}", "invalid UTF-8 at byte 10", true},
        {"{\"text\":\"\\ud800\"}", "Unicode", true}};
    struct buffer all = {0};
    enum { COUNT = sizeof cases / sizeof *cases };
    for (int i = 0; i < COUNT; i++) {
        buffer_add_text(&all, cases[i].line);
        buffer_add_text(&all, "\n \n");
    }
    struct records_options options = {.format = FORMAT_JSONL,
                                      .source.encoding = ENCODING_UTF8};
    ck_assert_int_eq(records_open_memory(&records, all.data, all.size, &options, NULL),
                     0);
    size_t cell;
    ck_assert_int_eq(records_text_column(records, "", &cell, NULL), BERT_OK);
    for (int i = 0; i < COUNT; i++) {
        if (!cases[i].bad) {
            check_value(cases[i].value);
            continue;
        }
        ck_assert(next());
        ck_assert_uint_eq(record.line, 1 + 2 * (uint64_t)i);
        ck_assert_int_eq(record.status, BERT_RECORD);
        ck_assert_msg(strstr(record.error, cases[i].value) != NULL, "%s", record.error);
    }
    ck_assert(!next());
    close_all();
    buffer_release(&all);
}
END_TEST

START_TEST(nul_in_json_text_counts) {
    open_bytes("{\"text\":\"中\\u0000国\"}\n", 23, FORMAT_JSONL);
    size_t cell;
    ck_assert_int_eq(records_column(records, span_of("text"), &cell, NULL), BERT_OK);
    ck_assert(next());
    ck_assert_uint_eq(record.cells[cell].value.size, 7);
    close_all();
}
END_TEST

START_TEST(operands) {
    const char *const texts[] = {"一", "a\nb", ""};
    ck_assert_int_eq(records_open_texts(&records, texts, 3, NULL, NULL), BERT_OK);
    check_value("一");
    check_value("a\nb");
    check_value("");
    ck_assert_uint_eq(record.number, 3);
    ck_assert(!next());
    close_all();
}
END_TEST

/* The seconds to read two rows of a file: size bytes in quotes, what follows them, as
 * many again, and a good row. */
static double seconds_for(const char *follows, size_t size) {
    struct buffer text = {0};
    buffer_add_text(&text, "t\n\"");
    for (size_t i = 0; i < size; i++)
        buffer_add_byte(&text, 'x');
    buffer_printf(&text, "\"%s", follows);
    for (size_t i = 0; i < size; i++)
        buffer_add_byte(&text, 'y');
    buffer_add_text(&text, "\nz\n");
    scratch_write("torn.csv", text.data, text.size);
    buffer_release(&text);
    char *path = scratch_path("torn.csv");
    struct records_options options = {.format = FORMAT_CSV, .limit = 4 * size};
    clock_t began = clock();
    ck_assert_int_eq(
        records_open(&records, (const char *const *)&path, 1, &options, &error), BERT_OK);
    for (int row = 0; row < 2; row++)
        ck_assert(next());
    ck_assert_int_eq(record.status, BERT_OK);
    double seconds = (double)(clock() - began) / CLOCKS_PER_SEC;
    free(path);
    close_all();
    return seconds;
}

START_TEST(a_torn_row_is_read_once) {
    scratch_begin();
    double whole = seconds_for("\n", 12 << 20), torn = seconds_for(" ", 12 << 20);
    scratch_end();
    ck_assert_msg(torn < 5 * whole + 0.1, "%g s, a whole row %g s", torn, whole);
}
END_TEST

START_TEST(several_files) {
    scratch_begin();
    scratch_write_text("a.csv", "\xef\xbb\xbft,u\n1,2");
    scratch_write_text("b.csv", "t,u\n3,4\n");
    scratch_write_text("c.csv", "t,u\n5,6\n");
    char *paths[] = {scratch_path("a.csv"), scratch_path("b.csv"), scratch_path("c.csv")};
    struct records_options options = {.format = record_format_of(paths[0], FORMAT_TEXT)};
    ck_assert_int_eq(
        records_open(&records, (const char *const *)paths, 3, &options, NULL), BERT_OK);
    struct records_progress progress;
    records_progress(records, &progress);
    ck_assert_uint_eq(progress.size, 10 + 8 + 8);
    check_value("1");
    check_value("3");
    ck_assert_uint_eq(record.number, 2);
    ck_assert_uint_eq(record.line, 2);
    ck_assert_uint_eq(record.end, 7 + 8);
    ck_assert_str_eq(record.file, paths[1]);
    scratch_write_text("c.csv", "t,v\n5,6\n"); /* another since it was checked */
    bool end;
    ck_assert_int_eq(records_next(records, &record, &end, &error), BERT_USAGE);
    ck_assert_ptr_nonnull(strstr(error.message, "c.csv: its header"));
    close_all();
    ck_assert_int_eq(
        records_open(&records, (const char *const *)paths, 3, &options, &error),
        BERT_USAGE); /* before any row */
    ck_assert_ptr_nonnull(strstr(error.message, "c.csv: its header"));
    scratch_write_text("c.csv", "t,\"u\n5,6\n");
    ck_assert_int_eq(
        records_open(&records, (const char *const *)paths, 3, &options, &error),
        BERT_USAGE);
    ck_assert_ptr_nonnull(strstr(error.message, "c.csv:1: the header: a quote"));
    scratch_write_text("c.csv", ""); /* no header at all is none that differs */
    ck_assert_int_eq(
        records_open(&records, (const char *const *)paths, 3, &options, &error), BERT_OK);
    check_value("1");
    check_value("3");
    ck_assert(!next());
    close_all();
    ck_assert_int_eq(unlink(paths[2]), 0);
    ck_assert_int_eq(
        records_open(&records, (const char *const *)paths, 3, &options, &error),
        BERT_IO); /* before any row */
    for (int i = 0; i < 3; i++)
        free(paths[i]);
    scratch_end();
}
END_TEST

START_TEST(hash_knows_all_that_was_read) {
    static const char *const inputs[] = {"a,b\n1,2\n3,4\n", "a,b\n1,3\n3,4\n",
                                         "a,c\n1,2\n3,4\n", "a,b\n1,2\n\n3,4\n"};
    uint64_t hashes[4];
    for (int i = 0; i < 4; i++) {
        open_bytes(inputs[i], strlen(inputs[i]), FORMAT_CSV);
        ck_assert(next());
        ck_assert(next());
        hashes[i] = record.hash;
        close_all();
        for (int j = 0; j < i; j++)
            ck_assert_uint_ne(hashes[i], hashes[j]);
    }
}
END_TEST

/* ---- JSON ------------------------------------------------------------------------ */

START_TEST(json_writes) {
    struct buffer out = {0};
    json_put_text(&out, "a\"\\\n\x01\x7f\0中\xff\xe4\xb8", 13);
    ck_assert_str_eq(buffer_text(&out), "\"a\\\"\\\\\\n\\u0001\x7f\\u0000中\xef\xbf\xbd"
                                        "\xef\xbf\xbd\"");
    out.size = 0;
    json_put_number(&out, 0.1234567);
    json_put_digits(&out, 0.123456789123, 9);
    json_put_number(&out, (double)INFINITY);
    ck_assert_str_eq(buffer_text(&out), "0.1234570.123456789null");
    buffer_release(&out);
}
END_TEST

START_TEST(json_reads) {
    struct json *document;
    char deep[200];
    memset(deep, '[', 100);
    memset(deep + 100, ']', 100);
    ck_assert_int_eq(json_parse(&document, deep, 200, 0, &error), BERT_RECORD);
    ck_assert_int_eq(
        json_parse(&document, deep + 100 - JSON_DEPTH, 2 * JSON_DEPTH, 0, NULL), BERT_OK);
    json_free(document);
    ck_assert_int_eq(json_parse(&document, "[1,2]", 5, 4, &error), BERT_USAGE);
    const char *text = "{\"b\":1,\"a\":[true,2.5],\"[[\":\"\\\"[\"}";
    ck_assert_int_eq(json_parse(&document, text, strlen(text), 0, NULL), BERT_OK);
    struct json_pair pair = {0};
    static const char *const names[] = {"b", "a", "[["};
    for (int i = 0; i < 3; i++) {
        ck_assert(json_next(document, &pair));
        ck_assert(span_equal(pair.name, span_of(names[i])));
    }
    ck_assert(!json_next(document, &pair));
    const struct json *list = json_member(document, "a");
    int64_t whole = 0;
    double number = 0;
    ck_assert_uint_eq(json_count(list), 2);
    ck_assert(!json_get_whole(json_item(list, 1), &whole));
    ck_assert(json_get_number(json_item(list, 1), &number));
    ck_assert(!json_get_number(json_item(list, 2), &number));
    ck_assert_double_eq(number, 2.5);
    ck_assert_ptr_null(json_member(list, "a"));
    json_free(document);
}
END_TEST

/* ---- Progress -------------------------------------------------------------------- */

START_TEST(p03_no_carriage_return_in_logs) {
    struct progress progress;
    struct buffer out = {0};
    struct progress_state state = {
        .records = 600, .errors = 2, .unique = 300, .taken = 25, .size = 100};
    progress_init(&progress, PROGRESS_LOG, 0, 0);
    progress_show(&progress, &state, 59, &out);
    ck_assert_uint_eq(out.size, 0);
    progress_show(&progress, &state, 60, &out);
    progress_clear(&progress, &out);
    ck_assert_str_eq(buffer_text(&out),
                     "600 rows, 10 rows/s, 25 %, ETA 3:00, 2 errors, 50 % unique\n");
    out.size = 0;
    progress_init(&progress, PROGRESS_TERMINAL, 500, 0);
    progress_show(&progress, &state, 10, &out);
    ck_assert_str_eq(buffer_text(&out),
                     "\r600 rows, 10 rows/s, 25 %, ETA 3:00, 2 errors, "
                     "300 % unique\x1b[K");
    out.size = 0;
    progress_clear(&progress, &out);
    ck_assert_str_eq(buffer_text(&out), "\r\x1b[K");
    buffer_release(&out);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("records");
    TCase *tests = tcase_create("records");
    tcase_add_test(tests, v02_gbk_is_found_after_utf8);
    tcase_add_test(tests, guesses);
    tcase_add_test(tests, decides_on_the_first_bytes_beyond_ascii);
    tcase_add_test(tests, bytes_that_are_no_gb18030_fail_their_record);
    tcase_add_test(tests, utf16_is_refused_by_name);
    tcase_add_test(tests, tells_when_input_waits_and_ends_when_told);
    tcase_add_test(tests, text_lines);
    tcase_add_test(tests, json_lines);
    tcase_add_test(tests, nul_in_json_text_counts);
    tcase_add_test(tests, operands);
    tcase_add_test(tests, a_torn_row_is_read_once);
    tcase_add_test(tests, several_files);
    tcase_add_test(tests, hash_knows_all_that_was_read);
    tcase_add_test(tests, json_writes);
    tcase_add_test(tests, json_reads);
    tcase_add_test(tests, p03_no_carriage_return_in_logs);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
