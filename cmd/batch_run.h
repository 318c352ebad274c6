/* SPDX-License-Identifier: MIT
 *
 * batch_run.h: a run of bert-batch: opens what it needs, goes on where another stopped,
 * runs the job, and tells how it goes. */
#ifndef CMD_BATCH_RUN_H
#define CMD_BATCH_RUN_H

#include "common_options.h"
#include "fill_options.h"

#include "io/encoding.h"

struct batch_args { /* the options of bert-batch alone */
    int to; /* enum record_format; FORMAT_UNSET: by the output's name, else as from */
    enum encoding encoding;
    const char *text_template, *select, *prefix;
    char delimiter;
    bool header, no_header, bom, crlf, guard, keep_equal, resume, progress;
    int batch_tokens;
    double checkpoint; /* seconds between two states */
};

struct batch {
    struct cli *cli;
    const struct common_options *common;
    const struct record_options *records;
    const struct fill_args *fill;
    const struct batch_args *args;
};

/* Runs it all; the status goes to cli. Returns the signal that stopped it, or 0. */
int batch_run(const struct batch *batch);

#endif
