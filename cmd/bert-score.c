/* SPDX-License-Identifier: MIT
 *
 * bert-score.c: pseudo-log-likelihoods of texts, the more natural of two, and characters
 * that look wrong. */
#include "score_output.h"
#include "stream.h"

#include <stdlib.h>
#include <string.h>

struct args {
    int to, k;
    bool header, byte_offsets, per_token, suspects;
    double gain;
    char first[256], second[256]; /* columns of --pairs */
};

/* Without a number the library's default holds. */
static bool take_suspects(void *values, const char *argument, char *why, size_t size) {
    struct args *args = values;
    char *end = NULL;
    args->suspects = true;
    args->gain = 0;
    if (!argument)
        return true;
    if (*argument && argument[strspn(argument, ".0123456789")] == '\0')
        args->gain = strtod(argument, &end);
    if (end && *end == '\0' && args->gain > 0 && args->gain <= 100)
        return true;
    snprintf(why, size, "'%s' is not a gain in nats above 0, to 100", argument);
    return false;
}

static bool take_pairs(void *values, const char *argument, char *why, size_t size) {
    struct args *args = values;
    const char *comma = strchr(argument, ',');
    size_t first = comma ? (size_t)(comma - argument) : 0;
    size_t second = comma ? strlen(comma + 1) : 0;
    if (first == 0 || second == 0 || strchr(comma + 1, ',') ||
        first >= sizeof args->first || second >= sizeof args->second) {
        snprintf(why, size, "'%s' is not two names of columns like A,B", argument);
        return false;
    }
    snprintf(args->first, sizeof args->first, "%.*s", (int)first, argument);
    snprintf(args->second, sizeof args->second, "%s", comma + 1);
    return true;
}

#define FIELD(name) offsetof(struct args, name)
static const struct cli_option rows[] = {
    {CLI_GROUP, .help = "Scoring"},
    {CLI_FLAG, "per-token", 0, NULL, "each token's log probability", FIELD(per_token)},
    {CLI_CALL, "suspects", 0, "[=T]",
     "characters that look wrong: log p of the best other is higher by T nats "
     "(" BERT_SUSPECTS ")",
     .handle = take_suspects},
    {CLI_INT, "top", 'k', "N", "better characters shown for each (default 3)", FIELD(k),
     .least = 1, .most = 1000},
    {CLI_CALL, "pairs", 0, "A,B", "of two columns, the text with the higher mean",
     .handle = take_pairs},
    {CLI_GROUP, .help = "Output"},
    {CLI_CHOICE, "to", 0, "SHAPE",
     "tsv, jsonl, or text: the corrected text with --suspects, the chosen one with "
     "--pairs",
     FIELD(to), .choices = "tsv jsonl text"},
    {CLI_FLAG, "header", 0, NULL, "a first line with the names of the columns (tsv)",
     FIELD(header)},
    {CLI_FLAG, "byte-offsets", 0, NULL, "offsets in bytes, not code points",
     FIELD(byte_offsets)},
    {CLI_END}};
#undef FIELD

static const struct cli_program program = {
    .name = "bert-score",
    .summary = "says how natural Chinese text is to the model",
    .operands = "[FILE...]",
    .examples = {"echo 今天天气真好啊 | bert-score --header",
                 "bert-score --suspects --to=jsonl essays.txt"},
    .notes =
        "The pseudo-log-likelihood masks each token once and adds the natural "
        "logarithms\n"
        "of what stands there; unknown tokens are left out and counted. Columns of tsv:\n"
        "record tokens unknown log_likelihood mean pseudo_perplexity text; with\n"
        "--per-token: record offset token log_probability; with --suspects: record\n"
        "offset character probability gain better corrected; with --pairs: record\n"
        "choice mean_1 mean_2 text.\n"
        "Exit status: 0 all scored, 1 some records failed, 2 usage, 3 model, 4 I/O,\n"
        "5 memory or device."};

struct scoring {
    struct bert_score_options options;
    struct score_look look;
    const struct bert_model *model;
};

/* A pair is a text and what comes before it, in one record: two texts to score. */
static void spread_pairs(const struct bert_text *texts, size_t count,
                         struct bert_text *spread) {
    for (size_t i = 0; i < count; i++) {
        spread[2 * i] =
            (struct bert_text){.bytes = texts[i].bytes, .length = texts[i].length};
        spread[2 * i + 1] =
            (struct bert_text){.bytes = texts[i].context ? texts[i].context : "",
                               .length = texts[i].context ? texts[i].context_length : 0};
    }
}

static enum bert_status process(void *arg, struct bert_session *session,
                                const struct bert_text *texts,
                                struct job_answer *const *answers, size_t count,
                                struct bert_error *error) {
    const struct scoring *scoring = arg;
    size_t each = scoring->look.pair[0] ? 2 : 1;
    struct bert_score *scores = calloc(count, each * sizeof *scores);
    struct bert_text *spread = calloc(count, each * sizeof *spread);
    enum bert_status status = scores && spread ? BERT_OK : error_memory(error);
    if (status == BERT_OK && each == 2)
        spread_pairs(texts, count, spread);
    else if (status == BERT_OK)
        memcpy(spread, texts, count * sizeof *spread);
    if (status == BERT_OK)
        status =
            bert_score(session, spread, count * each, &scoring->options, scores, error);
    for (size_t i = 0; i < count && status == BERT_OK; i++) {
        const struct bert_score *score = &scores[i * each];
        const char *why = score[0].status ? score[0].error : score[each - 1].error;
        if (why)
            job_fail(answers[i], why);
        else
            score_output_put(&answers[i]->out, &scoring->look, scoring->model,
                             &spread[i * each], score);
        if (answers[i]->out.failed)
            status = error_memory(error);
    }
    free(scores);
    free(spread);
    return status;
}

static void write_record(void *arg, const struct record *record, struct span text,
                         struct span answer, const char *why, struct sink *sink) {
    const struct scoring *scoring = arg;
    if (scoring->look.shape == SCORE_JSONL)
        stream_write_object(record, text, answer, why, sink);
    else if (scoring->look.shape == SCORE_TSV)
        stream_write_rows(record, answer, sink);
    else if (why)
        sink_text(sink, "\n");
    else
        sink_write(sink, answer.data, answer.size);
}

static bool check(struct cli *cli, const struct args *args,
                  const struct record_options *records) {
    bool pairs = args->first[0] != '\0';
    if (pairs && (args->suspects || args->per_token))
        cli_usage(cli, "--pairs goes with neither --suspects nor --per-token");
    else if (args->suspects && args->per_token && args->to != SCORE_JSONL)
        cli_usage(cli, "--suspects and --per-token together need --to=jsonl");
    else if (args->to == SCORE_TEXT && !pairs && !args->suspects)
        cli_usage(cli, "--to=text needs --suspects or --pairs");
    else if (args->k && !args->suspects)
        cli_usage(cli, "-k needs --suspects");
    else if (pairs && (records->column || records->column_index))
        cli_usage(cli, "--pairs names its columns itself");
    else
        return true;
    return false;
}

static void run(struct cli *cli, const struct args *args,
                const struct record_options *records,
                const struct common_options *common) {
    if (!check(cli, args, records))
        return;
    struct bert_model *model = common_options_open(cli, common, 0);
    if (!model)
        return;
    bool pairs = args->first[0] != '\0';
    struct scoring scoring = {
        .options = {.per_token = args->per_token,
                    .suspects = args->suspects,
                    .gain = args->gain,
                    .k = args->k},
        .look = {.shape = (enum score_shape)args->to,
                 .per_token = args->per_token,
                 .suspects = args->suspects,
                 .byte_offsets = args->byte_offsets,
                 .pair = {pairs ? args->first : NULL, pairs ? args->second : NULL}},
        .model = model};
    struct stream stream = {.cli = cli,
                            .common = common,
                            .records = records,
                            .model = model,
                            .column = pairs ? args->first : records->column,
                            .before_column = pairs ? args->second : NULL,
                            .batch_tokens = 128, /* each is a sequence of its own */
                            .process = process,
                            .write = write_record,
                            .arg = &scoring};
    if (args->header)
        stream.header = score_output_header(&scoring.look);
    stream_run(&stream);
    bert_close(model);
}

int main(int argc, char **argv) {
    struct cli cli;
    struct args args = {0};
    struct record_options records = {.from = FORMAT_UNSET};
    struct common_options common;
    const struct cli_table tables[] = {{rows, &args},
                                       {record_option_rows, &records},
                                       {common_option_rows, &common},
                                       {NULL, NULL}};
    if (common_options_read(&cli, &program, tables, &common, argc, argv))
        run(&cli, &args, &records, &common);
    return cli_finish(&cli);
}
