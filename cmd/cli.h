/* SPDX-License-Identifier: MIT
 *
 * cli.h: the manners of all programs. One table of options drives parsing, --help, the
 * configuration file, --show-config and, through the hidden --dump-options, the
 * completions; one place prints errors, counts failed records and picks the exit status.
 *
 *     static const struct cli_option rows[] = {
 *         {CLI_GROUP, .help = "Filling"},
 *         {CLI_INT, "top", 'k', "N", "answers for each mask (default 5)",
 *          offsetof(struct args, k), .least = 1, .most = 1e6},
 *         {CLI_END}};
 *     int main(int argc, char **argv) {
 *         struct cli cli;
 *         struct args args = {.k = 5};
 *         struct common_options common;
 *         const struct cli_table tables[] = {{rows, &args},
 *             {common_option_rows, &common}, {NULL, NULL}};
 *         if (common_options_read(&cli, &program, tables, &common, argc, argv))
 *             run(&cli, &args, &common);
 *         return cli_finish(&cli);
 *     } */
#ifndef CMD_CLI_H
#define CMD_CLI_H

#include "base/arena.h"
#include "base/status.h"

#include <stdio.h>

enum cli_kind {
    CLI_END,
    CLI_GROUP,  /* a heading: help alone is set */
    CLI_FLAG,   /* bool */
    CLI_COUNT,  /* int: how often it was given; no argument */
    CLI_TEXT,   /* const char * */
    CLI_FILE,   /* const char *, completed as a file name */
    CLI_INT,    /* int, least to most */
    CLI_REAL,   /* double, least to most */
    CLI_CHOICE, /* int: index of the word in choices */
    CLI_LIST,   /* struct cli_list, one item each time it is given */
    CLI_CALL,   /* handle(), which stores what it wants */
    CLI_HELP,   /* prints the help and ends */
    CLI_DUMP,   /* prints the tables as TSV and ends */
};

enum cli_flags {
    CLI_HIDDEN = 1,    /* not in help and completions */
    CLI_NO_CONFIG = 2, /* not a key of the configuration file */
};

struct cli_list {
    const char **items;
    size_t count;
};

struct cli_option {
    enum cli_kind kind;
    const char *name;     /* long name, which is also the key of the configuration file */
    char letter;          /* short name, or 0 */
    const char *argument; /* how help calls its argument; NULL: it takes none; "[=T]": it
                             may be left out, then the text is NULL (CLI_CALL alone) */
    const char *help;     /* without a full stop; wrapped by us */
    size_t field;         /* offset of the value in its table's values */
    double least, most;   /* CLI_INT, CLI_REAL: inclusive */
    const char *choices;  /* CLI_CHOICE: words separated by blanks; shown for completion
                             with other kinds, too */
    /* CLI_CALL: stores argument (which lives as long as cli), or returns false with why;
     * one with excludes takes back what it stored when argument is NULL. */
    bool (*handle)(void *values, const char *argument, char *why, size_t size);
    const char *environment; /* a variable that stands in where the option is not given */
    const char *excludes;    /* options, separated by blanks; the defaults of both sides
                                are zero */
    unsigned flags;
};

struct cli_table { /* the last has NULL rows */
    const struct cli_option *rows;
    void *values; /* holds the defaults before parsing */
};

struct cli_program {
    const char *name;        /* "bert-fill" */
    const char *summary;     /* "fills [MASK] in Chinese text" */
    const char *operands;    /* "[TEXT...]" */
    const char *examples[2]; /* command lines */
    const char *notes;       /* after the options, wrapped by the author; or NULL */
};

struct cli_state; /* per option: its text and where it came from */

struct cli {
    char **operands; /* in order, options taken out; NULL-terminated */
    int operand_count;
    bool quiet;  /* no notes */
    bool strict; /* cli_record_error says stop */
    enum bert_status status;
    size_t failed_records;

    const struct cli_program *program;
    const struct cli_table *tables;
    struct cli_state *states;
    struct arena arena; /* texts and lists of options */
};

/* ---- Parsing ---- */

/* Takes care of closed standard streams and of SIGPIPE (which ends the process quietly
 * even where the parent ignored it), then reads the command line. False: end by
 * cli_finish, all is said and status is set. Most programs call common_options_read
 * instead. */
bool cli_parse(struct cli *cli, const struct cli_program *program,
               const struct cli_table *tables, int argc, char **argv);

/* The option called name, NULL where there is none. index numbers it for cli_assign. */
const struct cli_option *cli_find(const struct cli *cli, const char *name, size_t *index);

enum cli_rank { CLI_DEFAULT, CLI_CONFIG, CLI_ENVIRONMENT, CLI_COMMAND };
/* Gives the index-th option a value; text is NULL where it takes none. One of a lower
 * rank than what is there is checked and dropped. source is copied. False with why: the
 * text does not suit. */
bool cli_assign(struct cli *cli, size_t index, const char *text, enum cli_rank rank,
                const char *source, char *why, size_t size);

/* Variables named in the tables, for options that the command line does not give. */
bool cli_read_environment(struct cli *cli);

/* Settles what the options exclude: of two that are given, that of the higher rank
 * stands, so that the command line wins over the file. Two of the same rank are a usage
 * error. */
bool cli_exclude(struct cli *cli);

/* Every option's value and where it came from, as YAML with comments, on stdout. */
void cli_show_config(const struct cli *cli);

/* ---- Saying things; text is escaped for a terminal ---- */

/* "bert-fill: MESSAGE" on stderr; sets status and returns it. */
enum bert_status cli_error(struct cli *cli, enum bert_status status, const char *format,
                           ...) __attribute__((format(printf, 3, 4)));
/* The same for what the library reports. */
enum bert_status cli_fail(struct cli *cli, const struct bert_error *error);
/* BERT_USAGE, with "Try 'bert-fill --help'." on the same line. */
enum bert_status cli_usage(struct cli *cli, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* "bert-fill: note: MESSAGE", unless quiet. */
void cli_note(struct cli *cli, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* cli_note in the shape of a callback; arg is the struct cli. */
void cli_note_line(void *arg, const char *line);

/* "bert-fill: FILE:LINE: MESSAGE" for the first ten, then only counted. line 0 is left
 * out; file NULL is standard input. The exit status becomes at least 1. False: --strict,
 * stop. */
bool cli_record_error(struct cli *cli, const char *file, size_t line,
                      const char *message);

enum cli_color { CLI_COLOR_AUTO, CLI_COLOR_ALWAYS, CLI_COLOR_NEVER };
/* Whether to colour what goes to a stream: auto asks for a terminal, no NO_COLOR and a
 * TERM other than dumb. */
bool cli_color(enum cli_color when, int file_descriptor);

/* Says how many records failed, flushes and closes stdout (a full disk is exit 4), frees,
 * and returns the exit status. */
int cli_finish(struct cli *cli);

#endif
