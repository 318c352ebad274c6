/* SPDX-License-Identifier: MIT
 *
 * cli_help.c: --help, the option dump that completions are made from, and the guess at
 * what a mistyped option meant. */
#include "cli_state.h"

#include "base/bytes.h"

#include <string.h>

enum { WIDTH = 80, COLUMN = 28 /* where explanations start */ };

/* Words of text, from column at on, broken before WIDTH and then indented. */
static void print_wrapped(const char *text, int at, int indent) {
    for (bool first = true; *text != '\0'; first = false) {
        int length = (int)strcspn(text, " ");
        if (!first && at + 1 + length > WIDTH) {
            printf("\n%*s", indent, "");
            at = indent;
        } else if (!first)
            at += printf(" ");
        at += printf("%.*s", length, text);
        text += length;
        text += strspn(text, " ");
    }
    printf("\n");
}

static void print_option(const struct cli_option *option) {
    char letter[8] = "    ";
    if (option->letter != 0)
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    int width = printf("  %s--%s%s%s", letter, option->name,
                       option->argument && option->argument[0] != '[' ? "=" : "",
                       option->argument ? option->argument : "");
    if (width > COLUMN - 2)
        width = printf("\n") - 1;
    printf("%*s", COLUMN - width, "");
    print_wrapped(option->help, COLUMN, COLUMN);
}

void cli_print_help(const struct cli *cli) {
    const struct cli_program *program = cli->program;
    printf("%s %s.\n\n  %s\n  %s\n\n", program->name, program->summary,
           program->examples[0], program->examples[1]);
    int width =
        printf("Usage: %s [OPTION...]%s", program->name, *program->operands ? " " : "");
    print_wrapped(program->operands, width, (int)strlen("Usage: "));
    for (const struct cli_state *state = cli->states; state->option->kind != CLI_END;
         state++)
        if (state->option->kind == CLI_GROUP)
            printf("\n%s:\n", state->option->help);
        else if (!(state->option->flags & CLI_HIDDEN))
            print_option(state->option);
    if (program->notes != NULL)
        printf("\n%s\n", program->notes);
}

static const char *kind_name(enum cli_kind kind) {
    switch (kind) {
    case CLI_FILE:
        return "file";
    case CLI_INT:
    case CLI_REAL:
        return "number";
    case CLI_CHOICE:
        return "choice";
    case CLI_TEXT:
    case CLI_LIST:
    case CLI_CALL:
        return "text";
    default:
        return "flag";
    }
}

/* One option a line: letter, name, argument, kind, choices, group, help. */
void cli_dump_options(const struct cli *cli) {
    const char *group = "";
    for (const struct cli_state *state = cli->states; state->option->kind != CLI_END;
         state++) {
        const struct cli_option *option = state->option;
        char letter[2] = {option->letter, '\0'};
        if (option->kind == CLI_GROUP)
            group = option->help;
        else if (!(option->flags & CLI_HIDDEN))
            printf("%s\t%s\t%s\t%s\t%s\t%s\t%s\n", letter, option->name,
                   option->argument ? option->argument : "",
                   option->argument ? kind_name(option->kind) : "flag",
                   option->choices ? option->choices : "", group, option->help);
    }
}

/* Levenshtein's distance, with rows of one cell a letter of b; names are short. */
static size_t distance(const char *a, size_t a_size, const char *b, size_t b_size) {
    size_t row[64];
    if (b_size >= sizeof row / sizeof *row)
        return SIZE_MAX;
    for (size_t j = 0; j <= b_size; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_size; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_size; j++) {
            size_t best = corner + (a[i - 1] != b[j - 1]);
            corner = row[j];
            best = row[j] + 1 < best ? row[j] + 1 : best;
            row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
        }
    }
    return row[b_size];
}

const char *cli_near_miss(const struct cli *cli, const char *typed) {
    typed += strspn(typed, "-");
    size_t size = strcspn(typed, "="), least = SIZE_MAX;
    const char *near = NULL;
    for (const struct cli_state *state = cli->states; state->option->kind != CLI_END;
         state++) {
        const char *name = state->option->name;
        if (name == NULL || state->option->flags & CLI_HIDDEN)
            continue;
        size_t length = strlen(name), apart = distance(typed, size, name, length);
        if (apart < least && apart <= 1 + length / 5) {
            least = apart;
            near = name;
        }
    }
    return near;
}

size_t cli_abbreviated(const struct cli *cli, const char *typed, char *names,
                       size_t size) {
    struct buffer text = {0};
    const char *last = NULL;
    size_t count = 0;
    typed += strspn(typed, "-");
    for (const struct cli_state *state = cli->states; state->option->kind != CLI_END;
         state++) {
        const char *name = state->option->name;
        if (name == NULL || state->option->flags & CLI_HIDDEN ||
            strncmp(name, typed, strcspn(typed, "=")) != 0)
            continue;
        if (last)
            buffer_printf(&text, "%s--%s", count > 1 ? ", " : "", last);
        last = name;
        count++;
    }
    const char *before = buffer_text(&text);
    snprintf(names, size, "%s or --%s", before ? before : "", last ? last : "");
    buffer_release(&text);
    return count;
}
