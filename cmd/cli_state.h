/* SPDX-License-Identifier: MIT
 *
 * cli_state.h: what the files of cli share: all tables as one flat list, each option with
 * the text it was given and where that came from. */
#ifndef CMD_CLI_STATE_H
#define CMD_CLI_STATE_H

#include "cli.h"

struct cli_state {
    const struct cli_option *option; /* kind CLI_END after the last */
    void *values;
    const char *text, *source; /* source NULL: the default stands */
    enum cli_rank rank;
};

static inline void *cli_field(const struct cli_state *state) {
    return (char *)state->values + state->option->field;
}

void cli_print_help(const struct cli *cli);
void cli_dump_options(const struct cli *cli);
/* The long name nearest to what was typed, or NULL when none is near. */
const char *cli_near_miss(const struct cli *cli, const char *typed);
/* How many options what was typed may abbreviate; names becomes "--a, --b or --c". */
size_t cli_abbreviated(const struct cli *cli, const char *typed, char *names,
                       size_t size);

#endif
