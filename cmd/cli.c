/* SPDX-License-Identifier: MIT
 *
 * cli.c: options from the command line, the environment and the configuration file into
 * the fields that the tables name. */
#include "cli.h"

#include "cli_state.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Long options are numbered past all letters in what getopt_long returns. */
enum { OPERAND = 1, FIRST_LONG = 256 };

static bool say_why(char *why, size_t size, const char *text, const char *what) {
    snprintf(why, size, "'%s' is not %s", text, what);
    return false;
}

static bool read_int(const struct cli_option *option, const char *text, int *result,
                     char *why, size_t size) {
    char what[100], *end = NULL;
    long number = 0;
    errno = 0;
    if (text[strspn(text, "-0123456789")] == '\0')
        number = strtol(text, &end, 10);
    *result = (int)number;
    if (end != NULL && end != text && *end == '\0' && errno == 0 &&
        (double)number >= option->least && (double)number <= option->most)
        return true;
    snprintf(what, sizeof what, "a whole number from %.15g to %.15g", option->least,
             option->most);
    return say_why(why, size, text, what);
}

static bool read_real(const struct cli_option *option, const char *text, double *result,
                      char *why, size_t size) {
    char what[100], *end = NULL;
    /* strtod also takes blanks, hexadecimal, inf and nan. */
    if (text[strspn(text, "-.0123456789eE")] == '\0')
        *result = strtod(text, &end);
    if (end != NULL && end != text && *end == '\0' && isfinite(*result) &&
        *result >= option->least && *result <= option->most)
        return true;
    snprintf(what, sizeof what, "a number from %.15g to %.15g", option->least,
             option->most);
    return say_why(why, size, text, what);
}

static bool read_choice(const struct cli_option *option, const char *text, int *result,
                        char *why, size_t size) {
    char what[200] = "one of ";
    size_t used = strlen(what);
    *result = 0;
    for (const char *at = option->choices; *at != '\0'; ++*result) {
        size_t length = strcspn(at, " ");
        if (strlen(text) == length && strncmp(text, at, length) == 0)
            return true;
        if (used < sizeof what)
            used += (size_t)snprintf(what + used, sizeof what - used, "%s%.*s",
                                     *result ? ", " : "", (int)length, at);
        at += length + (at[length] == ' ');
    }
    return say_why(why, size, text, what);
}

static bool read_flag(const char *text, bool *result, char *why, size_t size) {
    *result = text == NULL || strcmp(text, "true") == 0;
    return *result || strcmp(text, "false") == 0 ||
           say_why(why, size, text, "true or false");
}

/* The list doubles in the arena at each power of two; it starts anew when a source that
 * counts more speaks. */
static bool add_to_list(struct cli *cli, struct cli_list *list, const char *text,
                        bool anew) {
    if (anew)
        *list = (struct cli_list){0};
    if ((list->count & (list->count - 1)) == 0) {
        const char **items = arena_array(&cli->arena, 2 * list->count + 1, sizeof *items);
        if (items == NULL)
            return false;
        if (list->count > 0)
            memcpy(items, list->items, list->count * sizeof *items);
        list->items = items;
    }
    list->items[list->count++] = text;
    return true;
}

/* Checks text and, unless store is false, keeps it. */
static bool take(struct cli *cli, const struct cli_state *state, const char *text,
                 bool store, bool anew, char *why, size_t size) {
    const struct cli_option *option = state->option;
    void *field = cli_field(state);
    bool flag = false, fits = true;
    int number = 0;
    double real = 0;
    if (option->kind == CLI_FLAG)
        fits = read_flag(text, &flag, why, size);
    else if (option->kind == CLI_INT || (option->kind == CLI_COUNT && text != NULL))
        fits = read_int(option, text, &number, why, size);
    else if (option->kind == CLI_COUNT)
        number = (anew ? 0 : *(int *)field) + 1;
    else if (option->kind == CLI_REAL)
        fits = read_real(option, text, &real, why, size);
    else if (option->kind == CLI_CHOICE)
        fits = read_choice(option, text, &number, why, size);
    else if (option->kind == CLI_FILE || option->kind == CLI_LIST)
        fits = *text != '\0' || (snprintf(why, size, "must not be empty"), false);
    if (!fits || !store)
        return fits;
    if (option->kind == CLI_FLAG)
        memcpy(field, &flag, sizeof flag);
    else if (option->kind == CLI_REAL)
        memcpy(field, &real, sizeof real);
    else if (option->kind == CLI_TEXT || option->kind == CLI_FILE)
        memcpy(field, &text, sizeof text);
    else if (option->kind == CLI_CALL)
        return option->handle(state->values, text, why, size);
    else if (option->kind != CLI_LIST)
        memcpy(field, &number, sizeof number);
    else if (!add_to_list(cli, field, text, anew))
        return snprintf(why, size, "out of memory"), false;
    return true;
}

bool cli_assign(struct cli *cli, size_t index, const char *text, enum cli_rank rank,
                const char *source, char *why, size_t size) {
    struct cli_state *state = &cli->states[index];
    bool store = rank >= state->rank, anew = rank > state->rank;
    if (text != NULL && rank != CLI_COMMAND)
        text = arena_text(&cli->arena, text, strlen(text));
    const char *from = arena_text(&cli->arena, source, strlen(source));
    bool required = state->option->argument != NULL && state->option->argument[0] != '[';
    if (from == NULL || (text == NULL && required)) {
        snprintf(why, size, "out of memory");
        return false;
    }
    if (!take(cli, state, text, store, anew, why, size))
        return false;
    if (store) {
        state->text = text;
        state->source = from;
        state->rank = rank;
    }
    return true;
}

const struct cli_option *cli_find(const struct cli *cli, const char *name,
                                  size_t *index) {
    for (size_t i = 0; cli->states[i].option->kind != CLI_END; i++) {
        const struct cli_option *option = cli->states[i].option;
        if (option->name != NULL && strcmp(option->name, name) == 0) {
            *index = i;
            return option;
        }
    }
    return NULL;
}

/* ---- The command line ---- */

/* A file opened later must not land on 1 or 2 and receive what we print. Writing to the
 * stand-in of a closed stdout fails, as it should. */
static void open_standard_streams(void) {
    for (int i = 0; i < 3; i++)
        if (fcntl(i, F_GETFD) < 0 && errno == EBADF)
            if (open("/dev/null", i == 2 ? O_WRONLY : O_RDONLY) != i)
                _exit(BERT_IO);
}

static bool flatten(struct cli *cli) {
    static const struct cli_option end = {CLI_END};
    size_t count = 1;
    for (const struct cli_table *table = cli->tables; table->rows != NULL; table++)
        for (const struct cli_option *row = table->rows; row->kind != CLI_END; row++)
            count++;
    struct cli_state *state = arena_array(&cli->arena, count, sizeof *state);
    cli->states = state;
    if (state == NULL)
        return false;
    for (const struct cli_table *table = cli->tables; table->rows != NULL; table++)
        for (const struct cli_option *row = table->rows; row->kind != CLI_END; row++)
            *state++ = (struct cli_state){.option = row, .values = table->values};
    state->option = &end;
    return true;
}

/* What getopt_long wants: "-:" hands over operands in order and complaints to us. */
static bool describe(struct cli *cli, char **letters, struct option **names) {
    size_t count = 0;
    while (cli->states[count].option->kind != CLI_END)
        count++;
    char *letter = *letters = arena_array(&cli->arena, 2 * count + 3, 1);
    struct option *name = *names = arena_array(&cli->arena, count + 1, sizeof **names);
    if (letter == NULL || name == NULL)
        return false;
    *letter++ = '-';
    *letter++ = ':';
    for (size_t i = 0; i < count; i++) {
        const struct cli_option *option = cli->states[i].option;
        int takes = option->argument == NULL     ? no_argument
                    : option->argument[0] == '[' ? optional_argument
                                                 : required_argument;
        if (option->name != NULL)
            *name++ = (struct option){option->name, takes, NULL, FIRST_LONG + (int)i};
        if (option->letter == 0)
            continue;
        *letter++ = option->letter;
        if (takes == required_argument)
            *letter++ = ':';
    }
    return true;
}

static size_t find_letter(const struct cli *cli, int letter) {
    size_t i = 0;
    while (cli->states[i].option->kind != CLI_END &&
           cli->states[i].option->letter != letter)
        i++;
    return i;
}

static void complain(struct cli *cli, int what, char **argv) {
    const char *word = argv[optind - 1];
    char names[300];
    if (what == ':')
        cli_usage(cli, "option '%s' needs an argument", word);
    else if (optopt >= FIRST_LONG)
        cli_usage(cli, "option '--%s' takes no argument",
                  cli->states[optopt - FIRST_LONG].option->name);
    else if (optopt != 0)
        cli_usage(cli, "unknown option '-%c'", optopt);
    else if (cli_abbreviated(cli, word, names, sizeof names) > 1)
        cli_usage(cli, "option '%s' may be %s", word, names);
    else {
        const char *near = cli_near_miss(cli, word);
        cli_usage(cli,
                  near ? "unknown option '%s'; did you mean '--%s'?"
                       : "unknown option '%s'",
                  word, near);
    }
}

/* Handles one option; false ends the program. */
static bool take_option(struct cli *cli, size_t index, const char *text) {
    const struct cli_option *option = cli->states[index].option;
    char why[300] = "";
    if (option->kind == CLI_HELP || option->kind == CLI_DUMP) {
        (option->kind == CLI_HELP ? cli_print_help : cli_dump_options)(cli);
        return false;
    }
    if (cli_assign(cli, index, text, CLI_COMMAND, "command line", why, sizeof why))
        return true;
    cli_usage(cli, "--%s: %s", option->name, why);
    return false;
}

static bool read_command_line(struct cli *cli, int argc, char **argv) {
    char *letters;
    struct option *names;
    cli->operands = arena_array(&cli->arena, (size_t)argc + 1, sizeof *cli->operands);
    if (cli->operands == NULL || !describe(cli, &letters, &names)) {
        cli_error(cli, BERT_INTERNAL, "out of memory");
        return false;
    }
    opterr = 0;
    for (int what; (what = getopt_long(argc, argv, letters, names, NULL)) != -1;) {
        if (what == OPERAND) {
            cli->operands[cli->operand_count++] = optarg;
            continue;
        }
        if (what == '?' || what == ':') {
            complain(cli, what, argv);
            return false;
        }
        size_t index =
            what >= FIRST_LONG ? (size_t)(what - FIRST_LONG) : find_letter(cli, what);
        if (!take_option(cli, index, optarg))
            return false;
    }
    while (optind < argc) /* after -- */
        cli->operands[cli->operand_count++] = argv[optind++];
    return true;
}

bool cli_parse(struct cli *cli, const struct cli_program *program,
               const struct cli_table *tables, int argc, char **argv) {
    *cli = (struct cli){.program = program, .tables = tables};
    arena_init(&cli->arena);
    open_standard_streams();
    signal(SIGPIPE, SIG_DFL);
    if (!flatten(cli)) {
        cli_error(cli, BERT_INTERNAL, "out of memory");
        return false;
    }
    return read_command_line(cli, argc, argv);
}

bool cli_read_environment(struct cli *cli) {
    for (size_t i = 0; cli->states[i].option->kind != CLI_END; i++) {
        const char *variable = cli->states[i].option->environment;
        const char *text = variable != NULL ? getenv(variable) : NULL;
        char why[300] = "";
        if (text == NULL || *text == '\0' ||
            cli_assign(cli, i, text, CLI_ENVIRONMENT, variable, why, sizeof why))
            continue;
        cli_usage(cli, "%s: %s", variable, why);
        return false;
    }
    return true;
}

static bool is_given(const struct cli_state *state) {
    bool off = state->option->kind == CLI_FLAG && !*(const bool *)cli_field(state);
    return state->source != NULL && !off;
}

static void take_back(struct cli_state *state) {
    static const int zero = 0;
    static const bool off = false;
    static const char *const none = NULL;
    enum cli_kind kind = state->option->kind;
    void *field = cli_field(state);
    if (kind == CLI_CALL)
        state->option->handle(state->values, NULL, NULL, 0);
    else if (kind == CLI_FLAG)
        memcpy(field, &off, sizeof off);
    else if (kind == CLI_TEXT || kind == CLI_FILE)
        memcpy(field, &none, sizeof none);
    else
        memcpy(field, &zero, sizeof zero);
    state->text = state->source = NULL;
    state->rank = CLI_DEFAULT;
}

static bool has_word(const char *words, const char *word) {
    size_t size = word != NULL ? strlen(word) : 0;
    for (size_t length; size > 0 && *words != '\0'; words += length) {
        words += strspn(words, " ");
        length = strcspn(words, " ");
        if (length == size && strncmp(words, word, size) == 0)
            return true;
    }
    return false;
}

static bool exclude(struct cli *cli, struct cli_state *state, struct cli_state *other) {
    if (!is_given(state) || !is_given(other))
        return true;
    if (state->rank == other->rank) {
        bool typed = state->rank == CLI_COMMAND;
        cli_usage(cli, "%s%s--%s and --%s exclude each other", typed ? "" : state->source,
                  typed ? "" : ": ", other->option->name, state->option->name);
        return false;
    }
    take_back(state->rank < other->rank ? state : other);
    return true;
}

bool cli_exclude(struct cli *cli) {
    for (struct cli_state *state = cli->states; state->option->kind != CLI_END; state++) {
        const char *names = state->option->excludes;
        for (struct cli_state *other = cli->states;
             names != NULL && other->option->kind != CLI_END; other++)
            if (has_word(names, other->option->name) && !exclude(cli, state, other))
                return false;
    }
    return true;
}

/* ---- --show-config ---- */

static void show_choice(const char *choices, int index) {
    for (; index > 0 && *choices != '\0'; index--) {
        choices += strcspn(choices, " ");
        choices += *choices == ' ';
    }
    printf("%.*s", (int)strcspn(choices, " "), choices);
}

/* Double-quoted, so that any text reads back as it is. */
static void show_text(const char *text) {
    putchar('"');
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == 0x7f)
            printf("\\x%02X", c);
        else
            printf(c == '"' || c == '\\' ? "\\%c" : "%c", c);
    }
    putchar('"');
}

static bool has_value(const struct cli_state *state) {
    const struct cli_option *option = state->option;
    if (option->kind == CLI_TEXT || option->kind == CLI_FILE)
        return *(const char *const *)cli_field(state) != NULL;
    if (option->kind == CLI_LIST)
        return ((const struct cli_list *)cli_field(state))->count > 0;
    return option->kind != CLI_CALL || state->text != NULL;
}

static void show_value(const struct cli_state *state) {
    const struct cli_option *option = state->option;
    const void *field = cli_field(state);
    const struct cli_list *list = field;
    if (option->kind == CLI_FLAG)
        printf("%s", *(const bool *)field ? "true" : "false");
    else if (option->kind == CLI_CHOICE)
        show_choice(option->choices, *(const int *)field);
    else if (option->kind == CLI_INT || option->kind == CLI_COUNT)
        printf("%d", *(const int *)field);
    else if (option->kind == CLI_REAL)
        printf("%g", *(const double *)field);
    else if (option->kind == CLI_CALL)
        show_text(state->text);
    else if (option->kind != CLI_LIST)
        show_text(*(const char *const *)field);
    else
        for (size_t i = 0; i <= list->count; i++) {
            printf(i == 0 ? "[" : i < list->count ? ", " : "]");
            if (i < list->count)
                show_text(list->items[i]);
        }
}

void cli_show_config(const struct cli *cli) {
    for (const struct cli_state *state = cli->states; state->option->kind != CLI_END;
         state++) {
        const struct cli_option *option = state->option;
        if (option->kind == CLI_GROUP || option->kind == CLI_HELP ||
            option->kind == CLI_DUMP || option->flags & CLI_NO_CONFIG)
            continue;
        printf(has_value(state) ? "%s: " : "# %s:", option->name);
        if (has_value(state))
            show_value(state);
        printf("  # %s\n", state->source != NULL ? state->source : "default");
    }
}
