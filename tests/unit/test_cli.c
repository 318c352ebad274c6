/* SPDX-License-Identifier: MIT
 *
 * test_cli.c: the option tables: every kind of value, ranks of sources, messages, the
 * shape of --help, near misses, and how a program ends. */
#include "cli.h"
#include "scratch.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>

struct values {
    bool flag;
    int count, number, choice;
    double real;
    const char *text, *file;
    struct cli_list list;
    const char *called;
};

static bool take_call(void *values, const char *argument, char *why, size_t size) {
    if (strcmp(argument, "no") == 0) {
        snprintf(why, size, "'%s' is refused", argument);
        return false;
    }
    ((struct values *)values)->called = argument;
    return true;
}

static bool take_maybe(void *values, const char *argument, char *why, size_t size) {
    ((struct values *)values)->called = argument ? argument : "nothing";
    return true;
}

#define FIELD(name) offsetof(struct values, name)
static const struct cli_option rows[] = {
    {CLI_GROUP, .help = "Things"},
    {CLI_FLAG, "flag", 'f', NULL, "a flag", FIELD(flag)},
    {CLI_COUNT, "count", 'c', NULL, "counts", FIELD(count), .most = 9},
    {CLI_INT, "number", 'n', "N", "a number", FIELD(number), .least = -5,
     .most = 1000000},
    {CLI_REAL, "real", 0, "P", "a fraction", FIELD(real), .least = 0, .most = 1},
    {CLI_CHOICE, "choice", 0, "WHAT", "one of some", FIELD(choice),
     .choices = "red green"},
    {CLI_TEXT, "text", 't', "TEXT",
     "a text whose explanation goes on and on, so that it has to be broken into several "
     "lines, each of which must end before the eightieth column",
     FIELD(text), .environment = "TEST_CLI_TEXT"},
    {CLI_LIST, "list", 'l', "ITEM", "several", FIELD(list)},
    {CLI_FILE, "file", 0, "FILE", "a file", FIELD(file)},
    {CLI_CALL, "a-name-that-leaves-no-room", 0, "X", "called", .handle = take_call},
    {CLI_CALL, "maybe", 0, "[=X]", "may go without", .handle = take_maybe},
    {CLI_FLAG, "secret", 0, NULL, "hidden", FIELD(flag), .flags = CLI_HIDDEN},
    {CLI_HELP, "help", 'h', NULL, "print this help"},
    {CLI_END}};
static const struct cli_program program = {
    "bert-test", "tests", "[TEXT...]", {"bert-test 一", "bert-test 二"}, NULL};

static struct cli cli;
static struct values values;
static struct cli_table tables[] = {{rows, &values}, {NULL, NULL}};

/* stdout and stderr go into files, to be looked at. */
static void begin(void) {
    scratch_begin();
    char *out = scratch_path("out"), *err = scratch_path("err");
    ck_assert_ptr_nonnull(freopen(out, "w", stdout));
    ck_assert_ptr_nonnull(freopen(err, "w", stderr));
    free(out);
    free(err);
}

static void end(void) {
    fflush(stdout);
    scratch_end();
}

static struct buffer said;
static const char *read_back(const char *name) {
    fflush(NULL);
    char *path = scratch_path(name);
    buffer_release(&said);
    said = scratch_read(path);
    free(path);
    return buffer_text(&said);
}

static bool parse(const char *first, ...) {
    static char *argv[32];
    int argc = 0;
    argv[argc++] = (char *)(uintptr_t) "bert-test";
    va_list args;
    va_start(args, first);
    for (const char *arg = first; arg != NULL; arg = va_arg(args, const char *))
        argv[argc++] = (char *)(uintptr_t)arg;
    va_end(args);
    argv[argc] = NULL;
    return cli_parse(&cli, &program, tables, argc, argv);
}

/* ---- Values ---- */

START_TEST(every_kind_is_stored) {
    ck_assert(parse("一", "-fcc", "-n-5", "--real=0.25", "--choice", "green", "二", "-t",
                    "-x", "--list=a", "-lb", "-l", "c",
                    "--a-name-that-leaves-no-room=yes", "--", "-f", "--help", NULL));
    ck_assert(values.flag);
    ck_assert_int_eq(values.count, 2);
    ck_assert_int_eq(values.number, -5);
    ck_assert_double_eq(values.real, 0.25);
    ck_assert_int_eq(values.choice, 1);
    ck_assert_str_eq(values.text, "-x");
    ck_assert_uint_eq(values.list.count, 3);
    ck_assert_str_eq(values.list.items[0], "a");
    ck_assert_str_eq(values.list.items[2], "c");
    ck_assert_str_eq(values.called, "yes");
    ck_assert_int_eq(cli.operand_count, 4);
    ck_assert_str_eq(cli.operands[1], "二");
    ck_assert_str_eq(cli.operands[3], "--help");
    ck_assert_ptr_null(cli.operands[4]);
    ck_assert_str_eq(read_back("err"), "");
}
END_TEST

START_TEST(an_argument_may_be_optional) {
    ck_assert(parse("--maybe", "operand", NULL));
    ck_assert_str_eq(values.called, "nothing");
    ck_assert_int_eq(cli.operand_count, 1);
}
END_TEST

START_TEST(an_optional_argument_is_taken) {
    ck_assert(parse("--maybe=", "--maybe=it", NULL));
    ck_assert_str_eq(values.called, "it");
}
END_TEST

START_TEST(operands_keep_their_order_for_posix) {
    setenv("POSIXLY_CORRECT", "1", 1);
    ck_assert(parse("a", "-f", "b", NULL));
    ck_assert(values.flag);
    ck_assert_int_eq(cli.operand_count, 2);
}
END_TEST

/* ---- What is refused, and with which words ---- */

static const struct {
    const char *argument, *next, *message;
} refused[] = {
    {"-n", "1000001", "--number: '1000001' is not a whole number from -5 to 1000000"},
    {"-n", "99999999999999999999",
     "--number: '99999999999999999999' is not a whole number from -5 to 1000000"},
    {"-n", "4294967296",
     "--number: '4294967296' is not a whole number from -5 to 1000000"},
    {"-n", "+1", "--number: '+1' is not a whole number from -5 to 1000000"},
    {"-n", " 1", "--number: ' 1' is not a whole number from -5 to 1000000"},
    {"-n", "1x", "--number: '1x' is not a whole number from -5 to 1000000"},
    {"-n", "", "--number: '' is not a whole number from -5 to 1000000"},
    {"-n", "-", "--number: '-' is not a whole number from -5 to 1000000"},
    {"-n", "1e3", "--number: '1e3' is not a whole number from -5 to 1000000"},
    {"--real", "nan", "--real: 'nan' is not a number from 0 to 1"},
    {"--real", "0x1", "--real: '0x1' is not a number from 0 to 1"},
    {"--real", "1.01", "--real: '1.01' is not a number from 0 to 1"},
    {"--real", "1e", "--real: '1e' is not a number from 0 to 1"},
    {"--real", "0,5", "--real: '0,5' is not a number from 0 to 1"},
    {"--choice", "gree", "--choice: 'gree' is not one of red, green"},
    {"--choice", "red green", "--choice: 'red green' is not one of red, green"},
    {"--a-name-that-leaves-no-room", "no",
     "--a-name-that-leaves-no-room: 'no' is refused"},
    {"--list", "", "--list: must not be empty"},
    {"--file=", NULL, "--file: must not be empty"},
    {"--c", NULL, "option '--c' may be --count or --choice"},
    {"--numbr", "5", "unknown option '--numbr'; did you mean '--number'?"},
    {"--nubmer=5", NULL, "unknown option '--nubmer=5'; did you mean '--number'?"},
    {"--secre\x01", NULL, "unknown option '--secre\\x01'"},
    {"--port", NULL, "unknown option '--port'"}, /* two letters of four from "text" */
    {"--entirely-different", NULL, "unknown option '--entirely-different'"},
    {"-z", NULL, "unknown option '-z'"},
    {"-fz", NULL, "unknown option '-z'"},
    {"--flag=yes", NULL, "option '--flag' takes no argument"},
    {"--number", NULL, "option '--number' needs an argument"},
    {"-n", NULL, "option '-n' needs an argument"},
};

START_TEST(bad_options_are_usage_errors) {
    char line[400];
    ck_assert(!parse(refused[_i].argument, refused[_i].next, NULL));
    ck_assert_int_eq(cli.status, BERT_USAGE);
    size_t length = strlen(refused[_i].message);
    snprintf(line, sizeof line, "bert-test: %s%s Try 'bert-test --help'.\n",
             refused[_i].message, refused[_i].message[length - 1] == '?' ? "" : ".");
    ck_assert_str_eq(read_back("err"), line);
    ck_assert_int_eq(cli_finish(&cli), 2);
}
END_TEST

/* ---- Sources ---- */

static bool assign(const char *name, const char *text, enum cli_rank rank,
                   const char *source) {
    size_t index;
    char why[200];
    ck_assert_ptr_nonnull(cli_find(&cli, name, &index));
    return cli_assign(&cli, index, text, rank, source, why, sizeof why);
}

START_TEST(sources_count_in_order) {
    setenv("TEST_CLI_TEXT", "environment", 1);
    ck_assert(parse("-n1", "-lx", NULL));
    ck_assert(cli_read_environment(&cli));
    ck_assert(assign("number", "2", CLI_CONFIG, "c:1"));
    ck_assert(assign("text", "config", CLI_CONFIG, "c:2"));
    ck_assert(assign("list", "y", CLI_CONFIG, "c:3"));
    ck_assert(assign("flag", "true", CLI_CONFIG, "c:4"));
    ck_assert(!assign("number", "two", CLI_CONFIG, "c:5")); /* checked though dropped */
    ck_assert(!assign("flag", "yes", CLI_CONFIG, "c:6"));
    ck_assert(!assign("file", "", CLI_CONFIG, "c:7"));
    ck_assert_int_eq(values.number, 1);
    ck_assert_str_eq(values.text, "environment");
    ck_assert_uint_eq(values.list.count, 1);
    ck_assert_str_eq(values.list.items[0], "x");
    ck_assert(values.flag);
    cli_show_config(&cli);
    ck_assert_str_eq(read_back("out"), "flag: true  # c:4\ncount: 0  # default\n"
                                       "number: 1  # command line\nreal: 0  # default\n"
                                       "choice: red  # default\n"
                                       "text: \"environment\"  # TEST_CLI_TEXT\n"
                                       "list: [\"x\"]  # command line\n"
                                       "# file:  # default\n"
                                       "# a-name-that-leaves-no-room:  # default\n"
                                       "# maybe:  # default\n"
                                       "secret: true  # default\n");
}
END_TEST

/* ---- Help ---- */

START_TEST(help_starts_with_examples_and_fits) {
    ck_assert(!parse("--help", NULL));
    ck_assert_int_eq(cli.status, BERT_OK);
    const char *help = read_back("out");
    const char *start = "bert-test tests.\n\n  bert-test 一\n  bert-test 二\n\n"
                        "Usage: bert-test [OPTION...] [TEXT...]\n\nThings:\n"
                        "  -f, --flag                a flag\n";
    ck_assert_int_eq(strncmp(help, start, strlen(start)), 0);
    ck_assert_ptr_nonnull(strstr(help, "  --a-name-that-leaves-no-room=X\n"
                                       "                            called\n"));
    ck_assert_ptr_null(strstr(help, "secret"));
    for (const char *line = help; *line != '\0'; line += strcspn(line, "\n") + 1)
        ck_assert_uint_le(strcspn(line, "\n"), 80);
    ck_assert_str_eq(read_back("err"), "");
}
END_TEST

/* ---- Records and the end ---- */

START_TEST(failed_records_are_shown_then_counted) {
    ck_assert(parse(NULL));
    for (size_t i = 1; i <= 12; i++)
        ck_assert(cli_record_error(&cli, i % 2 ? "a\nb" : NULL, i, "no [MASK]"));
    ck_assert_int_eq(cli_finish(&cli), BERT_RECORD);
    const char *err = read_back("err");
    ck_assert_ptr_nonnull(strstr(err, "bert-test: a\\x0Ab:1: no [MASK]\n"));
    ck_assert_ptr_nonnull(strstr(err, "bert-test: standard input:10: no [MASK]\n"));
    ck_assert_ptr_null(strstr(err, ":11:"));
    ck_assert_ptr_nonnull(strstr(err, "bert-test: 12 records failed, the first 10 are "
                                      "shown\n"));
}
END_TEST

START_TEST(strict_says_stop) {
    ck_assert(parse(NULL));
    cli.strict = true;
    ck_assert(!cli_record_error(&cli, "x", 0, "bad"));
    ck_assert_str_eq(read_back("err"), "bert-test: x: bad\n");
}
END_TEST

START_TEST(notes_keep_quiet) {
    ck_assert(parse(NULL));
    cli_note(&cli, "cut to %d", 512);
    cli.quiet = true;
    cli_note_line(&cli, "unheard");
    ck_assert_str_eq(read_back("err"), "bert-test: note: cut to 512\n");
    struct bert_error error;
    error_set(&error, BERT_MODEL, "no model");
    ck_assert_int_eq(cli_fail(&cli, &error), BERT_MODEL);
    ck_assert_int_eq(cli_finish(&cli), 3);
}
END_TEST

START_TEST(a_full_disk_is_an_error) {
    ck_assert(parse(NULL));
    ck_assert_ptr_nonnull(freopen("/dev/full", "w", stdout));
    printf("lost\n");
    ck_assert_int_eq(cli_finish(&cli), BERT_IO);
    ck_assert_str_eq(read_back("err"),
                     "bert-test: standard output: No space left on device\n");
}
END_TEST

START_TEST(a_closed_stdout_is_an_error) {
    close(STDOUT_FILENO);
    ck_assert(parse(NULL));
    ck_assert_int_ge(dup(0), 3); /* no file that we open gets the number 1 */
    printf("lost\n");
    ck_assert_int_eq(cli_finish(&cli), BERT_IO);
}
END_TEST

START_TEST(a_reader_that_goes_away_ends_us_quietly) {
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    signal(SIGPIPE, SIG_IGN); /* as a parent may have done */
    close(ends[0]);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[1]);
        parse(NULL);
        printf("lost\n");
        _exit(cli_finish(&cli));
    }
    close(ends[1]);
    int status;
    waitpid(child, &status, 0);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), SIGPIPE);
    ck_assert_str_eq(read_back("err"), "");
}
END_TEST

START_TEST(color_depends) {
    ck_assert(cli_color(CLI_COLOR_ALWAYS, 1));
    ck_assert(!cli_color(CLI_COLOR_NEVER, 1));
    setenv("TERM", "xterm", 1);
    ck_assert(!cli_color(CLI_COLOR_AUTO, 1)); /* a file */
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0)
        return; /* no pseudo terminals here */
    ck_assert(cli_color(CLI_COLOR_AUTO, terminal));
    setenv("NO_COLOR", "", 1);
    ck_assert(cli_color(CLI_COLOR_AUTO, terminal)); /* empty does not count */
    setenv("NO_COLOR", "1", 1);
    ck_assert(!cli_color(CLI_COLOR_AUTO, terminal));
    unsetenv("NO_COLOR");
    setenv("TERM", "dumb", 1);
    ck_assert(!cli_color(CLI_COLOR_AUTO, terminal));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli");
    TCase *tcase = tcase_create("cli");
    tcase_add_checked_fixture(tcase, begin, end);
    tcase_add_test(tcase, every_kind_is_stored);
    tcase_add_test(tcase, an_argument_may_be_optional);
    tcase_add_test(tcase, an_optional_argument_is_taken);
    tcase_add_test(tcase, operands_keep_their_order_for_posix);
    tcase_add_loop_test(tcase, bad_options_are_usage_errors, 0,
                        sizeof refused / sizeof *refused);
    tcase_add_test(tcase, sources_count_in_order);
    tcase_add_test(tcase, help_starts_with_examples_and_fits);
    tcase_add_test(tcase, failed_records_are_shown_then_counted);
    tcase_add_test(tcase, strict_says_stop);
    tcase_add_test(tcase, notes_keep_quiet);
    tcase_add_test(tcase, a_full_disk_is_an_error);
    tcase_add_test(tcase, a_closed_stdout_is_an_error);
    tcase_add_test(tcase, a_reader_that_goes_away_ends_us_quietly);
    tcase_add_test(tcase, color_depends);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
