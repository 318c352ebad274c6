/* SPDX-License-Identifier: MIT
 *
 * fill_options.c: from the options of filling to what bert_fill takes. */
#include "fill_options.h"

#include "io/source.h"

#include <string.h>

/* "2" or "1-4" */
static bool take_span(void *values, const char *argument, char *why, size_t size) {
    struct fill_args *args = values;
    if (argument == NULL) {
        args->span_min = args->span_max = 0;
        return true;
    }
    size_t digit = strspn(argument, "12345678");
    if (digit == 1 && argument[1] == '\0') {
        args->span_min = args->span_max = argument[0] - '0';
        return true;
    }
    if (digit == 1 && argument[1] == '-' && strspn(argument + 2, "12345678") == 1 &&
        argument[3] == '\0' && argument[2] >= argument[0]) {
        args->span_min = argument[0] - '0';
        args->span_max = argument[2] - '0';
        return true;
    }
    snprintf(why, size,
             "'%s' is not a number of characters from 1 to 8, or a range like 1-4",
             argument);
    return false;
}

static bool take_baseline(void *values, const char *argument, char *why, size_t size) {
    struct fill_args *args = values;
    (void)why;
    (void)size;
    args->want_baseline = true;
    args->baseline = argument;
    return true;
}

#define FIELD(name) offsetof(struct fill_args, name)
const struct cli_option fill_option_rows[] = {
    {CLI_GROUP, .help = "Filling"},
    {CLI_INT, "top", 'k', "N", "answers for each mask", FIELD(k), .least = 1,
     .most = 1e9},
    {CLI_FLAG, "han", 0, NULL, "only Han characters", FIELD(han)},
    {CLI_FLAG, "no-punct", 0, NULL, "no punctuation", FIELD(no_punct)},
    {CLI_FLAG, "whole", 0, NULL, "no pieces of words (##)", FIELD(whole)},
    {CLI_REAL, "threshold", 0, "P", "only answers of at least this probability",
     FIELD(threshold), .least = 0, .most = 1},
    {CLI_LIST, "mask-token", 0, "STR", "another spelling of [MASK], such as 【MASK】",
     FIELD(mask_tokens)},
    {CLI_TEXT, "words", 0, "LIST",
     "answer with these words alone: 好,不好 or with labels 好:满意,喜欢;差:失望",
     FIELD(words)},
    {CLI_FILE, "words-file", 0, "FILE", "the same from a file: a word a line, TAB, label",
     FIELD(words_file), .excludes = "words"},
    {CLI_CALL, "baseline", 0, "[=TEXT]",
     "divide each word's probability by the one that it has in TEXT, so that common "
     "words "
     "are not preferred; good for classifying",
     .handle = take_baseline},
    {CLI_FLAG, "joint", 0, NULL, "the best whole fillings of all masks", FIELD(joint),
     .excludes = "words words-file"},
    {CLI_CALL, "span", 0, "N[-M]", "a mask may stand for N (to M) characters, at most 8",
     .handle = take_span, .excludes = "words words-file"},
    {CLI_CHOICE, "rank", 0, "HOW",
     "spans by mean log probability (a rule of thumb, which favours long set phrases) or "
     "by "
     "total",
     FIELD(rank), .choices = "mean total"},
    {CLI_TEXT, "context", 0, "TEXT",
     "text that is read before each record and never shown", FIELD(context)},
    {CLI_TEXT, "context-column", 0, "NAME", "the column or key that holds it",
     FIELD(context_column), .excludes = "context"},
    {CLI_END}};
#undef FIELD

bool fill_options_check(struct cli *cli, const struct fill_args *args) {
    if (!args->want_baseline || args->words || args->words_file)
        return true;
    cli_usage(cli, "--baseline needs --words");
    return false;
}

/* The file may be a pipe: --words-file=<(cut -f1 words.tsv). Close source. */
static enum bert_status read_list(const char *path, struct source **source,
                                  struct span *list, struct bert_error *error) {
    enum { MOST = 256 << 20 };
    const struct source_options utf8 = {.encoding = ENCODING_UTF8};
    enum bert_status status = source_open(source, path, &utf8, error);
    if (status == BERT_OK)
        status = source_window(*source, MOST + 1, list, error);
    if (status == BERT_OK && list->size > MOST)
        status = error_set(error, BERT_USAGE, "%s: longer than %d bytes", path, MOST);
    return status;
}

static bool read_words(struct cli *cli, const struct fill_args *args,
                       const struct bert_model *model, const char *baseline,
                       struct fill_plan *plan) {
    struct bert_error error;
    struct source *source = NULL;
    struct span list = span_of(args->words ? args->words : "");
    const char *path = args->words_file;
    enum bert_status status = path ? read_list(path, &source, &list, &error) : BERT_OK;
    bool read = status == BERT_OK;
    if (read)
        status = bert_words_new(&plan->words, model, list.data, list.size, path != NULL,
                                baseline, &error);
    source_close(source);
    if (read && status == BERT_USAGE)
        cli_usage(cli, "%s: %s", path ? path : "--words", error.message);
    else if (status != BERT_OK)
        cli_fail(cli, &error);
    return status == BERT_OK;
}

static bool clamp_k(struct cli *cli, const struct fill_args *args,
                    const struct bert_model *model, struct fill_plan *plan) {
    enum { MOST_FILLINGS = 256 };
    struct bert_info info;
    bert_model_info(model, &info);
    bool whole = args->joint || args->span_max;
    int most = plan->words ? (int)bert_words_count(plan->words)
               : whole     ? MOST_FILLINGS
                           : info.vocabulary;
    if (whole && args->k > most) {
        cli_usage(cli, "-k: --joint and --span give at most %d fillings", most);
        return false;
    }
    if (args->k > most)
        cli_note(cli, "-k %d is more than the %s has: %d answers", args->k,
                 plan->words ? "list" : "vocabulary", most);
    if (plan->options.k > most)
        plan->options.k = most;
    return true;
}

bool fill_options_plan(struct cli *cli, const struct fill_args *args,
                       const struct bert_model *model, int default_k, int list_k,
                       const char *baseline, struct fill_plan *plan) {
    *plan = (struct fill_plan){.context = args->context};
    plan->context_length = args->context ? strlen(args->context) : 0;
    if (!fill_options_check(cli, args))
        return false;
    bool list = args->words || args->words_file;
    if (args->want_baseline && args->baseline)
        baseline = args->baseline;
    if (args->want_baseline && !baseline) {
        cli_usage(cli, "--baseline needs a text with one [MASK] here: --baseline=TEXT");
        return false;
    }
    if (list &&
        !read_words(cli, args, model, args->want_baseline ? baseline : NULL, plan))
        return false;
    plan->options =
        (struct bert_fill_options){.k = args->k ? args->k
                                        : list  ? list_k
                                                : default_k,
                                   .han = args->han,
                                   .no_punct = args->no_punct,
                                   .whole = args->whole,
                                   .threshold = args->threshold,
                                   .mask_tokens = args->mask_tokens.items,
                                   .mask_token_count = args->mask_tokens.count,
                                   .words = plan->words,
                                   .joint = args->joint,
                                   .span_min = args->span_min,
                                   .span_max = args->span_max,
                                   .rank_total = args->rank == 1};
    plan->labelled = list && bert_words_labelled(plan->words);
    if (clamp_k(cli, args, model, plan))
        return true;
    fill_options_release(plan);
    return false;
}

void fill_options_release(struct fill_plan *plan) {
    bert_words_free(plan->words);
    plan->words = NULL;
}
