/* SPDX-License-Identifier: MIT
 *
 * test_sink.c: a file appears whole or not at all; what goes wrong is reported once. */
#include "io/sink.h"

#include "scratch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

static struct bert_error error;
static struct sink *sink;
static char *path, *part;

static void setup(void) {
    scratch_begin();
    path = scratch_path("out");
    part = scratch_path("out.part");
}

static void teardown(void) {
    free(path);
    free(part);
    scratch_end();
}

static void check_file(const char *name, const char *expected) {
    struct buffer bytes = scratch_read(name);
    ck_assert_str_eq(buffer_text(&bytes), expected);
    buffer_release(&bytes);
}

START_TEST(takes_its_name_when_complete) {
    scratch_write_text("out", "old");
    ck_assert_int_eq(chmod(path, 0640), 0);
    ck_assert_int_eq(sink_open(&sink, path, false, &error), BERT_OK);
    sink_text(sink, "new");
    ck_assert_uint_eq(sink_offset(sink), 3);
    ck_assert_int_eq(sink_flush(sink, &error), BERT_OK);
    check_file(path, "old");
    check_file(part, "new");
    ck_assert_int_eq(sink_close(sink, SINK_COMMIT, &error), BERT_OK);
    check_file(path, "new");
    struct stat about;
    ck_assert_int_eq(stat(path, &about), 0);
    ck_assert_int_eq(about.st_mode & 0777, 0640);
    ck_assert(!path_exists(part));
}
END_TEST

START_TEST(follows_a_symbolic_link) {
    char *link = scratch_path("link");
    scratch_write_text("out", "old");
    ck_assert_int_eq(symlink(path, link), 0);
    ck_assert_int_eq(sink_open(&sink, link, false, &error), BERT_OK);
    sink_text(sink, "new");
    ck_assert_int_eq(sink_close(sink, SINK_COMMIT, &error), BERT_OK);
    check_file(path, "new");
    ck_assert_int_eq(readlink(link, (char[1]){0}, 1), 1);
    free(link);
}
END_TEST

START_TEST(dropped_or_kept) {
    ck_assert_int_eq(sink_open(&sink, path, false, &error), BERT_OK);
    sink_text(sink, "x");
    ck_assert_int_eq(sink_close(sink, SINK_DROP, &error), BERT_OK);
    ck_assert(!path_exists(path) && !path_exists(part));
    ck_assert_int_eq(sink_open(&sink, path, false, &error), BERT_OK);
    sink_text(sink, "12345");
    ck_assert_int_eq(sink_close(sink, SINK_KEEP, &error), BERT_OK);
    ck_assert(!path_exists(path));
    ck_assert_int_eq(sink_open(&sink, path, true, &error), BERT_OK);
    ck_assert_int_eq(sink_cut(sink, 6, &error), BERT_IO);
    ck_assert_int_eq(sink_cut(sink, 2, &error), BERT_OK);
    sink_text(sink, "x");
    ck_assert_uint_eq(sink_offset(sink), 3);
    ck_assert_int_eq(sink_close(sink, SINK_COMMIT, &error), BERT_OK);
    check_file(path, "12x");
}
END_TEST

START_TEST(one_writer_at_a_time) {
    struct sink *other;
    ck_assert_int_eq(sink_open(&sink, path, false, &error), BERT_OK);
    sink_text(sink, "x");
    ck_assert_int_eq(sink_open(&other, path, false, &error), BERT_IO);
    ck_assert_ptr_nonnull(strstr(error.message, "another process"));
    ck_assert_int_eq(sink_close(sink, SINK_COMMIT, &error), BERT_OK);
    check_file(path, "x");
}
END_TEST

START_TEST(p01_full_disk) {
    ck_assert_int_eq(sink_open(&sink, "/dev/full", false, &error), BERT_OK);
    sink_text(sink, "x");
    ck_assert(!sink_failed(sink));
    ck_assert_int_eq(sink_close(sink, SINK_COMMIT, &error), BERT_IO);
    ck_assert_str_eq(error.message, "/dev/full: No space left on device");
}
END_TEST

START_TEST(cannot_be_opened) {
    char *inside = path_join(path, "x");
    ck_assert_int_eq(sink_open(&sink, inside, false, &error), BERT_IO);
    ck_assert_int_eq(sink_open(&sink, scratch, false, &error), BERT_IO);
    free(inside);
}
END_TEST

START_TEST(p02_reader_gone) {
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    signal(SIGPIPE, SIG_IGN);
    ck_assert_int_eq(dup2(ends[1], STDOUT_FILENO), STDOUT_FILENO);
    close(ends[0]);
    ck_assert_int_eq(sink_open(&sink, NULL, false, &error), BERT_OK);
    sink_text(sink, "x");
    ck_assert_int_eq(sink_flush(sink, &error), BERT_IO);
    ck_assert(sink_reader_gone(sink));
    sink_text(sink, "y");
    ck_assert_int_eq(sink_close(sink, SINK_COMMIT, NULL), BERT_IO);
}
END_TEST

START_TEST(large_writes) {
    struct buffer block = {0};
    buffer_reserve(&block, 200000);
    for (int i = 0; i < 200000; i++)
        buffer_add_byte(&block, (char)('a' + i % 26));
    ck_assert_int_eq(sink_open(&sink, path, false, &error), BERT_OK);
    sink_write(sink, block.data, 50000);
    sink_write(sink, block.data + 50000, 20000);
    sink_write(sink, block.data + 70000, 130000);
    ck_assert_uint_eq(sink_offset(sink), 200000);
    ck_assert_int_eq(sink_close(sink, SINK_COMMIT, &error), BERT_OK);
    check_file(path, buffer_text(&block));
    buffer_release(&block);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("sink");
    TCase *tests = tcase_create("sink");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, takes_its_name_when_complete);
    tcase_add_test(tests, follows_a_symbolic_link);
    tcase_add_test(tests, dropped_or_kept);
    tcase_add_test(tests, one_writer_at_a_time);
    tcase_add_test(tests, p01_full_disk);
    tcase_add_test(tests, cannot_be_opened);
    tcase_add_test(tests, p02_reader_gone);
    tcase_add_test(tests, large_writes);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
