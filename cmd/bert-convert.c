/* SPDX-License-Identifier: MIT
 *
 * bert-convert.c: any BERT checkpoint into one file that opens in milliseconds; and
 * looking into, verifying and comparing models. */
#include "common_options.h"
#include "signals.h"

#include "base/clock.h"
#include "service/convert.h"

#include <errno.h>
#include <unistd.h>

enum shape { TO_AUTO, TO_BERT, TO_SAFETENSORS, TO_TSV, TO_JSON };

struct args {
    int to;
    const char *license;
    bool inspect, verify, compare;
};

#define FIELD(name) offsetof(struct args, name)
static const struct cli_option rows[] = {
    {CLI_GROUP, .help = "Converting"},
    {CLI_CHOICE, "to", 0, "FORM",
     "bert (a model.bert, the default) or safetensors (a Hugging Face folder); with "
     "--inspect: tsv or json",
     FIELD(to), .choices = "auto bert safetensors tsv json", .flags = CLI_NO_CONFIG},
    {CLI_TEXT, "license", 0, "LINE", "a licence to keep in the file", FIELD(license),
     .flags = CLI_NO_CONFIG},
    {CLI_GROUP, .help = "Looking"},
    {CLI_FLAG, "inspect", 0, NULL, "list the tensors of any file that can be read",
     FIELD(inspect), .flags = CLI_NO_CONFIG},
    {CLI_FLAG, "verify", 0, NULL, "read every byte of model.bert files and check it",
     FIELD(verify), .excludes = "inspect", .flags = CLI_NO_CONFIG},
    {CLI_FLAG, "compare", 0, NULL,
     "fill the masks of the texts on standard input with two models and tell how they "
     "differ",
     FIELD(compare), .excludes = "inspect verify", .flags = CLI_NO_CONFIG},
    {CLI_END}};
#undef FIELD

static const struct cli_program program = {
    .name = "bert-convert",
    .summary = "makes one file of a BERT checkpoint",
    .operands = "SRC | --inspect FILE... | --verify FILE... | --compare A B",
    .examples = {"bert-convert bert-base-chinese -o base.bert",
                 "bert-convert --compare bert-base-chinese base.bert < sentences.txt"},
    .notes =
        "SRC is a Hugging Face folder or a file in it (safetensors, shards, PyTorch's\n"
        "pytorch_model.bin), a TensorFlow checkpoint's prefix, or a model.bert of f32\n"
        "or f16. Without --precision a model.bert gets int8 weights, and a folder the\n"
        "types of its source. Nothing in SRC is ever executed.\n"
        "Exit status: 0 done, 1 some texts of --compare failed, 2 usage, 3 SRC is no\n"
        "usable model, 4 I/O, 5 memory, 130 or 143 stopped by a signal."};

/* ---- Converting ---- */

struct bar {
    struct cli *cli;
    bool wanted, drawn;
    double shown;
};

static void draw(void *arg, uint64_t done, uint64_t total) {
    struct bar *bar = arg;
    double now = clock_seconds();
    if (!bar->wanted || now - bar->shown < 0.1)
        return;
    bar->shown = now;
    bar->drawn = true;
    fprintf(stderr, "\r%s: %3.0f %%", program.name, 100 * (double)done / (double)total);
    fflush(stderr);
}

static void clear(struct bar *bar) {
    if (bar->drawn)
        fputs("\r\033[K", stderr);
    bar->drawn = false;
}

static void pass_note(void *arg, const char *line) {
    struct bar *bar = arg;
    clear(bar);
    cli_note_line(bar->cli, line);
}

static bool stopped(void *arg) {
    return signals_caught() != 0;
}

static const char *const precisions[] = {"as its source", "f32", "f16", "int8"};

/* A path without what a terminal should not see; kept in room. */
static const char *shown(const char *path, struct bert_error *room) {
    error_set(room, BERT_OK, "%s", path);
    return room->message;
}

static void print_facts(const char *what, const char *path, const char *kind,
                        const struct convert_file_facts *facts) {
    struct bert_error name;
    printf("%s: %s (%s), %zu tensors, %llu parameters, %llu bytes\n        sha256 %s\n",
           what, shown(path, &name), kind, facts->tensors,
           (unsigned long long)facts->parameters, (unsigned long long)facts->bytes,
           facts->sha256);
}

static void self_test(struct cli *cli, const struct common_options *common,
                      const char *path) {
    const struct bert_open_options options = {
        .model = path, .no_mmap = common->no_mmap, .cpu = common->cpu};
    struct bert_error error;
    struct bert_model *model;
    struct convert_answer answer;
    if (bert_open(&model, &options, &error) != BERT_OK) {
        cli_fail(cli, &error);
        return;
    }
    enum bert_status status = convert_self_test(model, &answer, &error);
    if (status == BERT_RECORD)
        cli_note(cli, "no self-test: %s", error.message);
    else if (status != BERT_OK)
        cli_fail(cli, &error);
    else
        printf("answer: %s -> %s (%.3g %%)\n", answer.text, answer.word,
               100 * answer.probability);
    if (status == BERT_OK && answer.probability < CONVERT_SUSPICIOUS)
        cli_note(
            cli,
            "the best answer has less than 1 %%: its masked-LM head looks untrained");
    bert_close(model);
}

/* A path for bert_open, which takes a bare name for the name of a model. */
static char *explicit_path(const char *path) {
    struct buffer text = {0};
    buffer_printf(&text, "%s%s", strchr(path, '/') ? "" : "./", path);
    return buffer_text(&text);
}

static void convert(struct cli *cli, const struct args *args,
                    const struct common_options *common) {
    struct bar bar = {.cli = cli, .wanted = !cli->quiet && isatty(STDERR_FILENO)};
    const struct convert_options options = {.precision =
                                                (enum bert_precision)common->precision,
                                            .hugging_face = args->to == TO_SAFETENSORS,
                                            .no_mmap = common->no_mmap,
                                            .jobs = common->jobs,
                                            .license = args->license,
                                            .note = pass_note,
                                            .progress = draw,
                                            .stopped = stopped,
                                            .arg = &bar};
    struct convert_report report;
    struct bert_error error;
    const char *source = cli->operands[0];
    signals_catch(NULL);
    enum bert_status status =
        convert_run(source, common->output, &options, &report, &error);
    signals_release();
    clear(&bar);
    if (status != BERT_OK) {
        cli_fail(cli, &error);
        return;
    }
    print_facts("source", source, report.source_format, &report.source);
    print_facts("result", common->output, precisions[report.precision], &report.result);
    printf("seconds: %.2f\n", report.seconds);
    char *path = explicit_path(common->output);
    if (path)
        self_test(cli, common, path);
    free(path);
}

/* ---- Looking ---- */

static void inspect(struct cli *cli, const struct args *args,
                    const struct common_options *common) {
    for (int i = 0; i < cli->operand_count; i++) {
        struct buffer out = {0};
        struct bert_error error;
        if (convert_inspect(cli->operands[i], common->no_mmap, args->to == TO_JSON, &out,
                            &error) != BERT_OK)
            cli_fail(cli, &error);
        else if (fwrite(out.data, 1, out.size, stdout) != out.size)
            cli_error(cli, BERT_IO, "standard output: %s", strerror(errno));
        buffer_release(&out);
    }
}

static void verify(struct cli *cli, const struct common_options *common) {
    for (int i = 0; i < cli->operand_count; i++) {
        uint64_t bytes;
        struct bert_error error;
        if (convert_verify(cli->operands[i], common->no_mmap, &bytes, &error) == BERT_OK)
            printf("%s: good, %llu bytes\n", shown(cli->operands[i], &error),
                   (unsigned long long)bytes);
        else
            cli_fail(cli, &error);
    }
}

static struct bert_session *open_one(struct cli *cli, const struct common_options *common,
                                     const char *path, struct bert_model **model) {
    struct common_options one = *common;
    char *explicit = explicit_path(path);
    struct bert_session *session = NULL;
    struct bert_error error;
    one.model = explicit;
    *model = explicit ? common_options_open(cli, &one, 0) : NULL;
    free(explicit);
    if (*model && bert_session_new(&session, *model, common->jobs, &error) != BERT_OK)
        cli_fail(cli, &error);
    return session;
}

static void print_difference(const struct convert_difference *sum) {
    double masks = sum->masks ? (double)sum->masks : 1;
    double compared = sum->compared ? (double)sum->compared : 1;
    printf(
        "texts\t%zu\nfailed\t%zu\nmasks\t%zu\nsame_first\t%.6g\nsame_first_five\t%.6g\n"
        "mean_difference\t%.6g\nlargest_difference\t%.6g\n",
        sum->texts, sum->failed, sum->masks, (double)sum->same_first / masks,
        (double)sum->same_five / masks, sum->sum / compared, sum->largest);
}

static void compare_lines(struct cli *cli, struct bert_session *a,
                          struct bert_session *b) {
    struct convert_difference sum = {0};
    char *line = NULL;
    size_t room = 0, number = 0;
    for (ssize_t size; (size = getline(&line, &room, stdin)) > 0;) {
        struct bert_error error;
        number++;
        if (line[size - 1] == '\n')
            size--;
        if (size > 0 && line[size - 1] == '\r')
            size--;
        enum bert_status status = convert_compare(a, b, line, (size_t)size, &sum, &error);
        if (status == BERT_RECORD)
            cli_record_error(cli, NULL, number, error.message);
        else if (status != BERT_OK) {
            cli_fail(cli, &error);
            break;
        }
    }
    if (ferror(stdin))
        cli_error(cli, BERT_IO, "standard input: %s", strerror(errno));
    free(line);
    print_difference(&sum);
}

static void compare(struct cli *cli, const struct common_options *common) {
    struct bert_model *models[2] = {NULL, NULL};
    struct bert_session *a = open_one(cli, common, cli->operands[0], &models[0]);
    struct bert_session *b =
        a ? open_one(cli, common, cli->operands[1], &models[1]) : NULL;
    if (b)
        compare_lines(cli, a, b);
    bert_session_free(a);
    bert_session_free(b);
    bert_close(models[0]);
    bert_close(models[1]);
}

/* ---- */

static void run(struct cli *cli, const struct args *args,
                const struct common_options *common) {
    bool looks = args->inspect || args->verify || args->compare;
    bool text = args->to == TO_TSV || args->to == TO_JSON;
    if (args->to != TO_AUTO && (args->inspect ? !text : looks || text))
        cli_usage(
            cli, "--to=bert and --to=safetensors convert; --to=tsv and --to=json go with "
                 "--inspect");
    else if (looks && common->output)
        cli_usage(cli, "-o names the file to convert into; this prints");
    else if (args->compare && cli->operand_count != 2)
        cli_usage(cli, "--compare needs two models");
    else if (cli->operand_count == 0)
        cli_usage(cli, "no model given; it is an operand");
    else if (args->inspect)
        inspect(cli, args, common);
    else if (args->verify)
        verify(cli, common);
    else if (args->compare)
        compare(cli, common);
    else if (cli->operand_count > 1)
        cli_usage(cli, "one SRC at a time, not also '%s'", cli->operands[1]);
    else if (!common->output)
        cli_usage(cli, "-o OUT is missing");
    else
        convert(cli, args, common);
}

int main(int argc, char **argv) {
    struct cli cli;
    struct args args = {0};
    struct common_options common;
    const struct cli_table tables[] = {
        {rows, &args}, {common_option_rows, &common}, {NULL, NULL}};
    if (common_options_read(&cli, &program, tables, &common, argc, argv))
        run(&cli, &args, &common);
    int status = cli_finish(&cli);
    return status == BERT_IO && signals_caught() ? 128 + signals_caught() : status;
}
