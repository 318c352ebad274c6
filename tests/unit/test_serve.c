/* SPDX-License-Identifier: MIT
 *
 * test_serve.c: the server while its model is still being opened (S15), which no model of
 * the test data takes long enough to show: the opening waits here until told to go on. */
#include "service/serve.h"

#include <arpa/inet.h>
#include <check.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static sem_t go_on;
static bool fails;

static enum bert_status open_slowly(void *arg, struct bert_model **model,
                                    struct bert_error *error) {
    struct bert_open_options options = {.model = "tests/golden/tiny/f32"};
    sem_wait(&go_on);
    return fails ? error_set(error, BERT_MODEL, "no such model")
                 : bert_open(model, &options, error);
}

static void *load(void *serve) {
    static enum bert_status status;
    struct bert_error error;
    status = serve_load(serve, &error);
    return &status;
}

/* The status of the answer to one request, whose body is left in answer. */
static long ask(const struct serve *serve, const char *request, char *answer,
                size_t room) {
    const char *port = strrchr(serve_address(serve), ':') + 1;
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)strtol(port, NULL, 10)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int link = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(connect(link, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(write(link, request, strlen(request)), (ssize_t)strlen(request));
    size_t got = 0;
    ssize_t count;
    while (got < room - 1 && (count = read(link, answer + got, room - 1 - got)) > 0)
        got += (size_t)count;
    answer[got] = '\0';
    close(link);
    ck_assert_int_eq(strncmp(answer, "HTTP/1.1 ", 9), 0);
    return strtol(answer + 9, NULL, 10);
}

static const char health[] =
    "GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
static const char predict[] = "POST /predict HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                              "Content-Length: 19\r\n\r\n{\"text\":\"a [MASK]\"}";
static const char upload[] =
    "POST /api/batch HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    "Content-Type: text/csv\r\nContent-Length: 12\r\n\r\ntext\n[MASK]\n";

static struct serve *start(void) {
    struct serve_options options = {.listen = "127.0.0.1:0",
                                    .version = "0",
                                    .threads = 2,
                                    .max_connections = 10,
                                    .idle_seconds = 5,
                                    .cache = 3,
                                    .queue = 8,
                                    .max_body = 1000,
                                    .max_upload = 1000,
                                    .log_file = 2,
                                    .quiet = true,
                                    .open = open_slowly};
    struct serve *serve;
    struct bert_error error;
    sem_init(&go_on, 0, 0);
    ck_assert_msg(serve_new(&serve, &options, &error) == BERT_OK, "%s", error.message);
    return serve;
}

START_TEST(S15_requests_while_the_model_is_opened) {
    char answer[4000];
    pthread_t thread;
    void *status;
    struct serve *serve = start();
    pthread_create(&thread, NULL, load, serve);
    ck_assert_int_eq(ask(serve, health, answer, sizeof answer), 503);
    ck_assert_ptr_nonnull(strstr(answer, "{\"status\":\"loading\"}"));
    ck_assert_int_eq(ask(serve, predict, answer, sizeof answer), 503);
    ck_assert_ptr_nonnull(strstr(answer, "\"code\":\"loading\""));
    ck_assert_ptr_nonnull(strcasestr(answer, "Retry-After: 1"));
    ck_assert_int_eq(ask(serve, upload, answer, sizeof answer), 503);
    sem_post(&go_on);
    pthread_join(thread, &status);
    ck_assert_int_eq(*(enum bert_status *)status, BERT_OK);
    ck_assert_int_eq(ask(serve, health, answer, sizeof answer), 200);
    ck_assert_int_eq(ask(serve, predict, answer, sizeof answer), 200);
    ck_assert_int_eq(ask(serve, upload, answer, sizeof answer), 200);
    ck_assert(serve_drain(serve, 5, NULL));
    serve_free(serve);
}
END_TEST

START_TEST(a_model_that_cannot_be_opened) {
    char answer[4000];
    struct bert_error error;
    struct serve *serve = start();
    fails = true;
    sem_post(&go_on);
    ck_assert_int_eq(serve_load(serve, &error), BERT_MODEL);
    ck_assert_int_eq(ask(serve, predict, answer, sizeof answer), 503);
    serve_free(serve);
}
END_TEST

START_TEST(addresses_that_make_no_sense) {
    static const char *const bad[] = {"x",
                                      ":",
                                      "h:",
                                      "1.2.3.4:65536",
                                      "[::1]",
                                      "unix:",
                                      "127.0.0.1:80x",
                                      "no.such.host.invalid:1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct serve_options options = {.listen = bad[i], .threads = 1, .log_file = 2};
        struct serve *serve;
        struct bert_error error;
        ck_assert_msg(serve_new(&serve, &options, &error) == BERT_USAGE, "%s", bad[i]);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("serve");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, S15_requests_while_the_model_is_opened);
    tcase_add_test(tests, a_model_that_cannot_be_opened);
    tcase_add_test(tests, addresses_that_make_no_sense);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
