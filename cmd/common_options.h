/* SPDX-License-Identifier: MIT
 *
 * common_options.h: the options that all programs share, those of all programs that read
 * records, the environment and the configuration file, and opening the model. */
#ifndef CMD_COMMON_OPTIONS_H
#define CMD_COMMON_OPTIONS_H

#include "cli.h"

#include "io/records.h"

struct common_options { /* set whole by common_options_read */
    const char *model;  /* as given (-m, BERT_MODEL, configuration), or NULL */
    const char *cpu;    /* BERT_CPU, or NULL */
    const char *device; /* "auto", "cpu", "cuda", "cuda:N" */
    const char *output; /* file, or NULL for stdout */
    const char *config;
    int jobs;      /* at least 1 once read */
    int precision; /* enum bert_precision */
    int color;     /* enum cli_color */
    int verbose;
    bool quiet, no_mmap, no_config, show_config, version;
};
extern const struct cli_option common_option_rows[];

/* For programs that read records: --from, -c, --column-index, --strict,
 * --replace-invalid. */
struct record_options {
    int from; /* enum record_format of io/records.h; preset by the program */
    const char *column;
    int column_index; /* from 1; 0: not given */
    bool strict, replace_invalid;
};
extern const struct cli_option record_option_rows[];

/* Command line, then the environment, then the configuration file. Handles --help,
 * --version and --show-config. tables must hold common_option_rows with common, and may
 * hold record_option_rows (then cli->strict is set from it). False: end by cli_finish. */
bool common_options_read(struct cli *cli, const struct cli_program *program,
                         const struct cli_table *tables, struct common_options *common,
                         int argc, char **argv);

enum open_flags {
    OPEN_TOKENIZER = 1,   /* no weights */
    OPEN_PREFER_CUDA = 2, /* what --device=auto means: bert-batch, bert-serve */
};
/* bert_open with what the options say; notes go to stderr, -v adds the device, why, and
 * the kernel. bert_close is the caller's. */
enum bert_status common_options_try(struct cli *cli, const struct common_options *common,
                                    unsigned flags, struct bert_model **model,
                                    struct bert_error *error);
/* The same; NULL when it failed, which is said. */
struct bert_model *
common_options_open(struct cli *cli, const struct common_options *common, unsigned flags);

#endif
