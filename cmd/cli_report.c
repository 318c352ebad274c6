/* SPDX-License-Identifier: MIT
 *
 * cli_report.c: what the user is told on stderr, and how the process ends. */
#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHOWN_RECORDS = 10 };

/* One write a line, so that lines of a pipeline's programs do not mix. */
static void say(const struct cli *cli, const char *before, const char *message,
                const char *after) {
    struct bert_error escaped;
    error_set(&escaped, BERT_OK, "%s%s", before, message);
    fprintf(stderr, "%s: %s%s\n", cli->program->name, escaped.message, after);
}

enum bert_status cli_error(struct cli *cli, enum bert_status status, const char *format,
                           ...) {
    char message[1000];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    say(cli, "", message, "");
    cli->status = status;
    return status;
}

enum bert_status cli_fail(struct cli *cli, const struct bert_error *error) {
    return cli_error(cli, error->status, "%s", error->message);
}

enum bert_status cli_usage(struct cli *cli, const char *format, ...) {
    char message[1000], after[100];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    const char *stop = strchr("?.", message[strlen(message) - 1]) ? "" : ".";
    snprintf(after, sizeof after, "%s Try '%s --help'.", stop, cli->program->name);
    say(cli, "", message, after);
    cli->status = BERT_USAGE;
    return BERT_USAGE;
}

void cli_note(struct cli *cli, const char *format, ...) {
    if (cli->quiet)
        return;
    char message[1000];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    say(cli, "note: ", message, "");
}

void cli_note_line(void *arg, const char *line) {
    cli_note(arg, "%s", line);
}

bool cli_record_error(struct cli *cli, const char *file, size_t line,
                      const char *message) {
    char place[300], number[32] = "";
    if (line > 0)
        snprintf(number, sizeof number, "%zu: ", line);
    snprintf(place, sizeof place, "%.250s:%s%s", file ? file : "standard input",
             line > 0 ? "" : " ", number);
    if (++cli->failed_records <= SHOWN_RECORDS)
        say(cli, place, message, "");
    return !cli->strict;
}

bool cli_color(enum cli_color when, int file_descriptor) {
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    if (when != CLI_COLOR_AUTO)
        return when == CLI_COLOR_ALWAYS;
    return isatty(file_descriptor) && (no_color == NULL || *no_color == '\0') &&
           term != NULL && strcmp(term, "dumb") != 0;
}

int cli_finish(struct cli *cli) {
    if (cli->failed_records > SHOWN_RECORDS)
        fprintf(stderr, "%s: %zu records failed, the first %d are shown\n",
                cli->program->name, cli->failed_records, SHOWN_RECORDS);
    bool failed = ferror(stdout) != 0;
    errno = 0;
    if (fclose(stdout) != 0 || failed) {
        /* An error that an earlier write met has left no number behind. */
        const char *why = errno != 0 ? strerror(errno) : "a write failed";
        if (cli->status == BERT_OK || cli->status == BERT_RECORD)
            cli_error(cli, BERT_IO, "standard output: %s", why);
    }
    if (cli->status == BERT_OK && cli->failed_records > 0)
        cli->status = BERT_RECORD;
    arena_release(&cli->arena);
    return (int)cli->status;
}
