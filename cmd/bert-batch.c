/* SPDX-License-Identifier: MIT
 *
 * bert-batch.c: fills the [MASK]s of a table, whose columns go through unchanged. */
#include "batch_run.h"

#include "base/path.h"

#include <string.h>

enum { LONGEST_PREFIX = 100 };

static bool take_delimiter(void *values, const char *argument, char *why, size_t size) {
    struct batch_args *args = values;
    bool tab = strcmp(argument, "tab") == 0 || strcmp(argument, "\\t") == 0;
    if (!tab && (strlen(argument) != 1 || strchr("\"\r\n", argument[0]))) {
        snprintf(why, size, "'%s' is not one character of ASCII, or the word tab",
                 argument);
        return false;
    }
    args->delimiter = tab ? '\t' : argument[0];
    return true;
}

static bool take_encoding(void *values, const char *argument, char *why, size_t size) {
    struct batch_args *args = values;
    if (encoding_parse(argument, &args->encoding))
        return true;
    snprintf(why, size, "'%s' is not one of auto, utf-8, gb18030", argument);
    return false;
}

#define FIELD(name) offsetof(struct batch_args, name)
static const struct cli_option rows[] = {
    {CLI_GROUP, .help = "Tables"},
    {CLI_CHOICE, "to", 0, "FORMAT",
     "the output is text, csv, tsv or jsonl (default: by its name, else as the input)",
     FIELD(to), .choices = "text csv tsv jsonl"},
    {CLI_TEXT, "template", 0, "TEXT",
     "the text, with columns in braces: '{review}。总之很[MASK]。'; {{ and }} are braces",
     FIELD(text_template), .excludes = "column column-index"},
    {CLI_TEXT, "select", 0, "NAMES", "only these columns of the input go out: id,text",
     FIELD(select)},
    {CLI_TEXT, "prefix", 0, "STR", "put before the names of the columns that are added",
     FIELD(prefix)},
    {CLI_CALL, "encoding", 0, "NAME",
     "of the input: auto, utf-8 or gb18030 (GBK); the output is UTF-8",
     .choices = "auto utf-8 gb18030", .handle = take_encoding},
    {CLI_CALL, "delimiter", 0, "CHAR",
     "between cells of CSV, in and out (default: comma)", .handle = take_delimiter},
    {CLI_FLAG, "header", 0, NULL, "the input has a header row (default)", FIELD(header)},
    {CLI_FLAG, "no-header", 0, NULL,
     "it has none; columns are called 1, 2, ... and no header is written",
     FIELD(no_header), .excludes = "header"},
    {CLI_FLAG, "bom", 0, NULL, "begin with a byte-order mark, which Excel asks for",
     FIELD(bom)},
    {CLI_FLAG, "crlf", 0, NULL, "end rows with CRLF (default: as the input's)",
     FIELD(crlf)},
    {CLI_FLAG, "guard-formulas", 0, NULL,
     "an apostrophe before cells that a spreadsheet would run as a formula",
     FIELD(guard)},
    {CLI_GROUP, .help = "Long runs"},
    {CLI_FLAG, "resume", 0, NULL,
     "go on where a run with the same -o was stopped; begin where there is none",
     FIELD(resume), .flags = CLI_NO_CONFIG},
    {CLI_FLAG, "progress", 0, NULL, "a line a minute also where stderr is no terminal",
     FIELD(progress)},
    {CLI_FLAG, "no-dedup", 0, NULL, "compute equal texts each time", FIELD(keep_equal)},
    {CLI_INT, "batch-tokens", 0, "N", "tokens that a thread takes at once",
     FIELD(batch_tokens), .least = 1, .most = 1e6},
    {CLI_REAL, "checkpoint", 0, "SECONDS", "time between two states of --resume",
     FIELD(checkpoint), .least = 0, .most = 1e6, .flags = CLI_HIDDEN | CLI_NO_CONFIG},
    {CLI_END}};
#undef FIELD

static const struct cli_program program = {
    .name = "bert-batch",
    .summary = "fills [MASK] in the rows of a table",
    .operands = "[FILE...]",
    .examples =
        {"bert-batch --template='{review}。总之很[MASK]。' reviews.csv -o out.csv",
         "bert-batch --from=tsv --to=jsonl -c text < table.tsv"},
    .notes = "The text is the column called text, else the only column, unless -c or\n"
             "--template says otherwise. The input's columns go through byte for byte;\n"
             "added are prediction confidence filled error, with -k above 1 (it is 1)\n"
             "prediction_1... and confidence_1..., with labelled --words also label. In\n"
             "JSON lines, the object gets a member \"fill\". -o writes OUT.part, which\n"
             "becomes OUT when all is done.\n"
             "Exit status: 0 all filled, 1 some rows failed, 2 usage, 3 model, 4 I/O,\n"
             "5 memory or device, 130 or 143 stopped by a signal (see --resume)."};

/* What can be known to be wrong before anything is opened. */
static bool check(struct cli *cli, const struct common_options *common,
                  const struct fill_args *fill, const struct batch_args *args) {
    if (args->text_template && *args->text_template == '\0')
        cli_usage(cli, "--template: must not be empty");
    else if (args->resume && (!common->output || strcmp(common->output, "-") == 0))
        cli_usage(cli, "--resume needs -o FILE");
    else if (strlen(args->prefix) > LONGEST_PREFIX)
        cli_usage(cli, "--prefix: at most %d bytes", LONGEST_PREFIX);
    else
        return fill_options_check(cli, fill);
    return false;
}

int main(int argc, char **argv) {
    struct cli cli;
    struct common_options common;
    struct record_options records = {.from = FORMAT_UNSET};
    struct fill_args fill = {0};
    struct batch_args args = {
        .to = FORMAT_UNSET, .prefix = "", .delimiter = ',', .checkpoint = 1};
    const struct cli_table tables[] = {{rows, &args},
                                       {fill_option_rows, &fill},
                                       {record_option_rows, &records},
                                       {common_option_rows, &common},
                                       {NULL, NULL}};
    const struct batch batch = {&cli, &common, &records, &fill, &args};
    int signal = 0;
    if (common_options_read(&cli, &program, tables, &common, argc, argv) &&
        check(&cli, &common, &fill, &args))
        signal = batch_run(&batch);
    int status = cli_finish(&cli);
    return signal && status <= BERT_RECORD ? 128 + signal : status;
}
