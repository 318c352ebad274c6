/* SPDX-License-Identifier: MIT
 *
 * fill_options.h: the options of filling, which bert-fill and bert-batch share, and what
 * the library gets from them. */
#ifndef CMD_FILL_OPTIONS_H
#define CMD_FILL_OPTIONS_H

#include "cli.h"

struct fill_args { /* zero but for k before parsing; then as given */
    int k;         /* 0: not given */
    bool han, no_punct, whole, joint;
    double threshold;
    struct cli_list mask_tokens;
    const char *words, *words_file;
    const char *baseline; /* the text given; NULL with want_baseline: --baseline alone */
    bool want_baseline;
    int span_min, span_max; /* 0: no span */
    int rank;               /* of the words "mean total" */
    const char *context;    /* for every record */
    const char *context_column;
};
/* -k/--top, --han, --no-punct, --whole, --threshold, --mask-token, --words, --words-file,
 * --baseline, --joint, --span, --rank, --context, --context-column. */
extern const struct cli_option fill_option_rows[];

/* What goes to bert_fill; words inside are owned here. */
struct fill_plan {
    struct bert_fill_options options;
    struct bert_words *words; /* options.words, or NULL */
    bool labelled;            /* the list has labels: outputs have a label column */
    const char *context;      /* args->context, or NULL */
    size_t context_length;
};

/* Checks the options against each other and the model, reads the list of words, and
 * scores the baseline. default_k: answers a mask when -k was not given and there are no
 * words; list_k: the same with words, 0 for the whole list. baseline is the text for
 * --baseline without one (bert-batch: the template with empty columns), or NULL: then a
 * text must be given. False: said, with the status set. */
bool fill_options_plan(struct cli *cli, const struct fill_args *args,
                       const struct bert_model *model, int default_k, int list_k,
                       const char *baseline, struct fill_plan *plan);
void fill_options_release(struct fill_plan *plan); /* before bert_close */

/* Checks only what needs no model; call it before opening one. */
bool fill_options_check(struct cli *cli, const struct fill_args *args);

#endif
