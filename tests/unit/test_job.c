/* SPDX-License-Identifier: MIT
 *
 * test_job.c: the job with an operation that turns texts around: order, equal texts, bad
 * records, latency, stopping, failing. */
#include "service/job.h"

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { LINES = 20000 };

struct reverse { /* what the operation is told to do, and what was seen */
    atomic_int processed, delay_us;
    int fail_at; /* process fails for all at this many texts; 0: never */
    struct job *stop_at_first;
    uint64_t written, failures;
    bool strict;
    struct buffer first_failure;
};

static enum bert_status prepare(void *context, const struct record *record,
                                struct buffer *text, struct buffer *before,
                                struct bert_error *error) {
    struct span value = record->cells[0].value;
    if (value.size > 0 && value.data[0] == '!')
        return error_set(error, BERT_RECORD, "refused");
    buffer_add(text, value.data, value.size);
    if (value.size > 0 && value.data[0] == '<')
        buffer_add_text(before, "before");
    return BERT_OK;
}

static enum bert_status process(void *context, struct bert_session *session,
                                const struct bert_text *texts,
                                struct job_answer *const *answers, size_t count,
                                struct bert_error *error) {
    struct reverse *reverse = context;
    int done = atomic_fetch_add(&reverse->processed, (int)count) + (int)count;
    if (reverse->fail_at && done >= reverse->fail_at)
        return error_set(error, BERT_INTERNAL, "device lost");
    if (reverse->delay_us)
        usleep((useconds_t)reverse->delay_us);
    for (size_t i = 0; i < count; i++) {
        if (texts[i].length > 0 && texts[i].bytes[0] == '?') {
            job_fail(answers[i], "no answer");
            continue;
        }
        for (size_t at = texts[i].length; at > 0; at--)
            buffer_add_byte(&answers[i]->out, texts[i].bytes[at - 1]);
        buffer_add(&answers[i]->out, texts[i].context, texts[i].context_length);
    }
    return BERT_OK;
}

static void write_line(void *context, const struct record *record, struct span answer,
                       const char *why, struct sink *sink) {
    struct reverse *reverse = context;
    ck_assert_uint_eq(record->number, ++reverse->written);
    sink_write(sink, answer.data, answer.size);
    sink_text(sink, why ? why : "");
    sink_text(sink, "\n");
    if (reverse->stop_at_first)
        job_stop(reverse->stop_at_first);
}

static bool on_failure(void *arg, const char *file, uint64_t line, const char *why) {
    struct reverse *reverse = arg;
    if (reverse->failures++ == 0)
        buffer_printf(&reverse->first_failure, "%llu %s", (unsigned long long)line, why);
    return !reverse->strict;
}

static struct job_report report;
static struct bert_error error;

static enum bert_status run_records(struct reverse *reverse, struct job *job,
                                    struct records *records, struct sink *sink) {
    const struct job_ops ops = {reverse, prepare, process, write_line};
    return job_run(job, records, &ops, sink, &report, &error);
}

static void close_all(struct job *job, struct records *records, struct sink *sink) {
    sink_close(sink, SINK_COMMIT, NULL);
    records_close(records);
    job_free(job);
}

static enum bert_status run(struct reverse *reverse, struct job_options options,
                            struct span input, struct buffer *output) {
    struct job *job;
    struct records *records;
    struct sink *sink;
    options.failed = on_failure;
    options.arg = reverse;
    ck_assert_int_eq(job_new(&job, &options, NULL), BERT_OK);
    ck_assert_int_eq(records_open_memory(&records, input.data, input.size, NULL, NULL),
                     0);
    ck_assert_int_eq(sink_open_memory(&sink, output, NULL), BERT_OK);
    if (reverse->stop_at_first)
        reverse->stop_at_first = job;
    enum bert_status status = run_records(reverse, job, records, sink);
    close_all(job, records, sink);
    return status;
}

/* Numbers, each of `distinct` again and again, some of them bad. */
static struct buffer make_lines(int distinct) {
    struct buffer lines = {0};
    for (int i = 0; i < LINES; i++) {
        int value = i * 7919 % distinct;
        const char *mark = value % 100 == 3 ? "!" : value % 100 == 5 ? "?" : "";
        buffer_printf(&lines, "%s%s%d\n", mark, value % 9 == 1 ? "<" : "", value);
    }
    return lines;
}

START_TEST(same_bytes_in_any_way) {
    struct buffer lines = make_lines(5000), first = {0};
    static const struct job_options ways[] = {{.threads = 1},
                                              {.threads = 2},
                                              {.threads = 7, .batch_tokens = 1},
                                              {.threads = 2, .batch_tokens = 100000},
                                              {.threads = 3, .keep_equal = true}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct reverse reverse = {0};
        struct buffer out = {0};
        ck_assert_int_eq(
            run(&reverse, ways[i], (struct span){lines.data, lines.size}, &out), BERT_OK);
        ck_assert_uint_eq(report.state.records, LINES);
        ck_assert_uint_eq(report.state.failed, LINES / 50);
        ck_assert_uint_eq(reverse.failures, LINES / 50);
        ck_assert_uint_eq(report.state.unique, (uint64_t)reverse.processed);
        ck_assert_uint_eq(report.state.unique,
                          ways[i].keep_equal ? LINES - LINES / 100 : 5000 - 50);
        if (i == 0)
            first = out;
        ck_assert_uint_eq(out.size, first.size);
        ck_assert_mem_eq(out.data, first.data, out.size);
        if (i > 0)
            buffer_release(&out);
        buffer_release(&reverse.first_failure);
    }
    buffer_release(&first);
    buffer_release(&lines);
}
END_TEST

START_TEST(more_texts_than_are_remembered) {
    struct buffer lines = {0}, out = {0};
    for (int i = 0; i < 60000; i++)
        buffer_printf(&lines, "%d\n", i % 30000);
    struct reverse reverse = {0};
    struct job_options options = {.threads = 2};
    ck_assert_int_eq(run(&reverse, options, (struct span){lines.data, lines.size}, &out),
                     0);
    ck_assert_uint_eq(report.state.records, 60000);
    ck_assert_uint_eq(report.state.unique, 60000);
    buffer_release(&lines);
    buffer_release(&out);
}
END_TEST

START_TEST(stops_at_the_first_failure) {
    struct buffer out = {0};
    struct reverse reverse = {.strict = true};
    struct job_options options = {.threads = 2};
    ck_assert_int_eq(run(&reverse, options, span_of("ab\n?x\ncd\n"), &out), BERT_RECORD);
    ck_assert_str_eq(buffer_text(&out), "ba\n");
    ck_assert_str_eq(buffer_text(&reverse.first_failure), "2 no answer");
    ck_assert_uint_eq(report.state.records, 1);
    buffer_release(&out);
    buffer_release(&reverse.first_failure);
}
END_TEST

START_TEST(a_failure_of_all_ends_it) {
    struct buffer lines = make_lines(LINES), out = {0};
    struct reverse reverse = {.fail_at = LINES / 2};
    struct job_options options = {.threads = 3};
    ck_assert_int_eq(run(&reverse, options, (struct span){lines.data, lines.size}, &out),
                     BERT_INTERNAL);
    ck_assert_str_eq(error.message, "device lost");
    ck_assert_uint_lt(report.state.records, LINES);
    buffer_release(&lines);
    buffer_release(&out);
    buffer_release(&reverse.first_failure);
}
END_TEST

START_TEST(finishes_what_is_begun) {
    struct buffer lines = make_lines(LINES), out = {0};
    struct reverse reverse = {.delay_us = 1000, .stop_at_first = (void *)1};
    struct job_options options = {.threads = 2};
    ck_assert_int_eq(run(&reverse, options, (struct span){lines.data, lines.size}, &out),
                     BERT_OK);
    ck_assert(report.stopped);
    ck_assert_uint_gt(report.state.records, 0);
    ck_assert_uint_lt(report.state.records, LINES / 2);
    ck_assert_uint_eq(report.state.records, reverse.written);
    buffer_release(&lines);
    buffer_release(&out);
    buffer_release(&reverse.first_failure);
}
END_TEST

START_TEST(a_failing_sink_ends_it) {
    struct buffer lines = make_lines(LINES);
    struct reverse reverse = {0};
    struct job *job;
    struct records *records;
    struct sink *sink;
    struct job_options options = {.threads = 2};
    ck_assert_int_eq(job_new(&job, &options, NULL), BERT_OK);
    ck_assert_int_eq(records_open_memory(&records, lines.data, lines.size, NULL, NULL),
                     0);
    ck_assert_int_eq(sink_open(&sink, "/dev/full", false, NULL), BERT_OK);
    ck_assert_int_eq(run_records(&reverse, job, records, sink), BERT_IO);
    ck_assert_ptr_nonnull(strstr(error.message, "No space left"));
    ck_assert_uint_lt(report.state.records, LINES);
    close_all(job, records, sink);
    buffer_release(&lines);
}
END_TEST

static int to_job[2], from_job[2];

static void *talk(void *arg) {
    struct job *job = arg;
    for (int i = 0; i < 50; i++) { /* each answer before the next question */
        char line[32], answer[32];
        int size = snprintf(line, sizeof line, "%d\n", 10 + i);
        ck_assert_int_eq(write(to_job[1], line, (size_t)size), size);
        ck_assert_int_eq(read(from_job[0], answer, sizeof answer), size);
        ck_assert(answer[0] == line[1] && answer[1] == line[0]);
    }
    job_stop(job); /* while it waits for input that never comes */
    return NULL;
}

START_TEST(answers_as_soon_as_input_waits) {
    struct reverse reverse = {0};
    struct job *job;
    struct records *records;
    struct sink *sink;
    pthread_t talker;
    struct job_options options = {.threads = 2};
    struct records_options input = {.format = FORMAT_TEXT};
    ck_assert_int_eq(pipe(to_job) | pipe(from_job), 0);
    ck_assert_int_eq(dup2(to_job[0], STDIN_FILENO), STDIN_FILENO);
    ck_assert_int_eq(dup2(from_job[1], STDOUT_FILENO), STDOUT_FILENO);
    ck_assert_int_eq(job_new(&job, &options, NULL), BERT_OK);
    job_watch(job, &input.source);
    ck_assert_int_eq(pthread_create(&talker, NULL, talk, job), 0);
    ck_assert_int_eq(records_open(&records, NULL, 0, &input, NULL), BERT_OK);
    ck_assert_int_eq(sink_open(&sink, NULL, false, NULL), BERT_OK);
    ck_assert_int_eq(run_records(&reverse, job, records, sink), BERT_OK);
    ck_assert_int_eq(pthread_join(talker, NULL), 0);
    ck_assert_uint_eq(report.state.records, 50);
    ck_assert(report.stopped);
    close_all(job, records, sink);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("job");
    TCase *tests = tcase_create("job");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, same_bytes_in_any_way);
    tcase_add_test(tests, more_texts_than_are_remembered);
    tcase_add_test(tests, stops_at_the_first_failure);
    tcase_add_test(tests, a_failure_of_all_ends_it);
    tcase_add_test(tests, finishes_what_is_begun);
    tcase_add_test(tests, a_failing_sink_ends_it);
    tcase_add_test(tests, answers_as_soon_as_input_waits);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
