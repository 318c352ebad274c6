/* SPDX-License-Identifier: MIT
 *
 * bert-fill.c: fills the [MASK]s of texts given as operands or records. */
#include "fill_options.h"
#include "fill_output.h"
#include "stream.h"

#include "base/path.h"

#include <unistd.h>

struct args {
    int to;
    bool header, byte_offsets;
};

#define FIELD(name) offsetof(struct args, name)
static const struct cli_option rows[] = {
    {CLI_GROUP, .help = "Output"},
    {CLI_CHOICE, "to", 0, "SHAPE",
     "table (the default on a terminal), tsv (elsewhere), jsonl, text (the filled "
     "sentence) or hf (as Hugging Face's pipeline)",
     FIELD(to), .choices = "auto table tsv jsonl text hf"},
    {CLI_FLAG, "header", 0, NULL, "a first line with the names of the columns (tsv)",
     FIELD(header)},
    {CLI_FLAG, "byte-offsets", 0, NULL, "offsets in bytes, not code points (jsonl)",
     FIELD(byte_offsets)},
    {CLI_END}};
#undef FIELD

static const struct cli_program program = {
    .name = "bert-fill",
    .summary = "fills [MASK] in Chinese text",
    .operands = "[TEXT...]",
    .examples = {"bert-fill '今天天气真[MASK]啊'",
                 "bert-fill --words=满意,一般,不满意 --to=jsonl < reviews.txt"},
    .notes =
        "Without TEXT, records are read from standard input, a text a line unless\n"
        "--from says otherwise. Columns of tsv: record mask rank word probability\n"
        "text; with --words also share and label; with --joint or --span: record rank\n"
        "words probability mean_log_probability text. Several masks are answered\n"
        "independently unless --joint is given. Without -k there are 5 answers, with\n"
        "--words the whole list.\n"
        "Exit status: 0 all filled, 1 some records failed, 2 usage, 3 model, 4 I/O,\n"
        "5 memory or device."};

struct fill {
    struct fill_plan plan;
    struct fill_look look;
};

static enum bert_status process(void *arg, struct bert_session *session,
                                const struct bert_text *texts,
                                struct job_answer *const *answers, size_t count,
                                struct bert_error *error) {
    const struct fill *fill = arg;
    struct bert_result *results = calloc(count, sizeof *results);
    if (!results)
        return error_memory(error);
    enum bert_status status =
        bert_fill(session, texts, count, &fill->plan.options, results, error);
    for (size_t i = 0; i < count && status == BERT_OK; i++) {
        if (results[i].note)
            job_note(answers[i], results[i].note);
        if (results[i].unscored > 0) {
            char line[100];
            snprintf(line, sizeof line, "%zu words left out, too unlikely to matter",
                     results[i].unscored);
            job_note(answers[i], line);
        }
        if (results[i].status != BERT_OK)
            job_fail(answers[i], results[i].error);
        else
            status = fill_output_put(&answers[i]->out, &fill->look, session, &texts[i],
                                     &results[i], error);
    }
    free(results);
    return status;
}

static void write_record(void *arg, const struct record *record, struct span text,
                         struct span answer, const char *why, struct sink *sink) {
    const struct fill *fill = arg;
    enum fill_shape shape = fill->look.shape;
    if (shape == SHAPE_JSONL || (why && shape == SHAPE_HF))
        stream_write_object(record, text, answer, why, sink);
    else if (shape == SHAPE_TSV)
        stream_write_rows(record, answer, sink);
    else if (why && shape == SHAPE_TEXT)
        sink_text(sink, "\n");
    else
        sink_write(sink, answer.data, answer.size);
}

/* An operand that names a file, or "-", was probably meant to be read. */
static bool check_operands(struct cli *cli) {
    for (int i = 0; i < cli->operand_count; i++) {
        const char *text = cli->operands[i];
        if (strcmp(text, "-") == 0) {
            cli_usage(cli, "'-' is a text here; without one, standard input is read");
            return false;
        }
        if (strstr(text, "MASK") || !path_exists(text) || path_is_folder(text))
            continue;
        cli_usage(cli,
                  "'%s' has no [MASK] and is a file; to fill its lines: bert-fill < %s",
                  text, text);
        return false;
    }
    return true;
}

/* How answers look, from the options and where they go. */
static bool choose_look(struct cli *cli, const struct args *args,
                        const struct fill_args *filling,
                        const struct common_options *common, struct fill_look *look) {
    bool terminal = !common->output && isatty(STDOUT_FILENO);
    *look = (struct fill_look){
        .shape = args->to != SHAPE_AUTO ? (enum fill_shape)args->to
                 : terminal             ? SHAPE_TABLE
                                        : SHAPE_TSV,
        .whole = filling->joint || filling->span_max,
        .words = filling->words || filling->words_file,
        .byte_offsets = args->byte_offsets,
        .color = cli_color((enum cli_color)common->color, STDOUT_FILENO)};
    if (look->shape != SHAPE_HF || !look->whole)
        return true;
    cli_usage(cli, "--to=hf goes with neither --joint nor --span");
    return false;
}

static void run(struct cli *cli, const struct args *args, const struct fill_args *filling,
                const struct record_options *records,
                const struct common_options *common) {
    struct fill fill;
    if (!fill_options_check(cli, filling) || !check_operands(cli) ||
        !choose_look(cli, args, filling, common, &fill.look))
        return;
    struct bert_model *model = common_options_open(cli, common, 0);
    if (!model)
        return;
    int list_k = fill.look.shape == SHAPE_HF ? 5 : 0;
    if (fill_options_plan(cli, filling, model, 5, list_k, NULL, &fill.plan)) {
        struct stream stream = {.cli = cli,
                                .common = common,
                                .records = records,
                                .model = model,
                                .operands_are_texts = true,
                                .column = records->column,
                                .before_column = filling->context_column,
                                .before_member = filling->context ? NULL : "context",
                                .before = filling->context,
                                .process = process,
                                .write = write_record,
                                .arg = &fill};
        if (fill.plan.options.k > 1000 || (fill.plan.words && !fill.plan.options.k))
            stream.batch_tokens = 128; /* answers are held for a whole batch */
        if (args->header)
            stream.header = fill_output_header(&fill.look);
        stream_run(&stream);
        fill_options_release(&fill.plan);
    }
    bert_close(model);
}

int main(int argc, char **argv) {
    struct cli cli;
    struct args args = {0};
    struct fill_args filling = {0};
    struct record_options records = {.from = FORMAT_UNSET};
    struct common_options common;
    const struct cli_table tables[] = {{fill_option_rows, &filling},
                                       {rows, &args},
                                       {record_option_rows, &records},
                                       {common_option_rows, &common},
                                       {NULL, NULL}};
    if (common_options_read(&cli, &program, tables, &common, argc, argv))
        run(&cli, &args, &filling, &records, &common);
    return cli_finish(&cli);
}
