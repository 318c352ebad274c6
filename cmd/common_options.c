/* SPDX-License-Identifier: MIT
 *
 * common_options.c: the shared rows, and the order in which sources of a value count:
 * command line, environment, configuration file, default. */
#include "common_options.h"

#include "base/cpu.h"
#include "base/mapping.h"
#include "base/path.h"
#include "build_info.h"
#include "cli_state.h"
#include "io/yaml.h"

#include <stdlib.h>
#include <string.h>

/* "auto", "cpu", "cuda", "cuda:N" */
static bool take_device(void *values, const char *argument, char *why, size_t size) {
    struct common_options *common = values;
    const char *number = strncmp(argument, "cuda:", 5) == 0 ? argument + 5 : NULL;
    bool fits = strcmp(argument, "auto") == 0 || strcmp(argument, "cpu") == 0 ||
                strcmp(argument, "cuda") == 0 ||
                (number != NULL && strspn(number, "0123456789") == strlen(number) &&
                 strlen(number) >= 1 && strlen(number) <= 3);
    if (!fits) {
        snprintf(why, size, "'%s' is not auto, cpu, cuda or cuda:N", argument);
        return false;
    }
    common->device = argument;
    return true;
}

#define FIELD(name) offsetof(struct common_options, name)
const struct cli_option common_option_rows[] = {
    {CLI_GROUP, .help = "Model and machine"},
    {CLI_FILE, "model", 'm', "MODEL",
     "a model.bert, a Hugging Face folder, or an installed model's name "
     "(default: the one that ships)",
     FIELD(model), .environment = "BERT_MODEL"},
    {CLI_CHOICE, "precision", 0, "KIND",
     "f32, f16 or int8 (default: as stored; f32 for a folder)", FIELD(precision),
     .choices = "auto f32 f16 int8"},
    {CLI_CALL, "device", 0, "DEVICE", "auto, cpu, cuda or cuda:N", FIELD(device),
     .choices = "auto cpu cuda", .handle = take_device},
    {CLI_INT, "jobs", 'j', "N", "threads (default: as many cores as we may use)",
     FIELD(jobs), .least = 1, .most = 1024},
    {CLI_TEXT, "cpu", 0, "NAME", "kernel table", FIELD(cpu), .environment = "BERT_CPU",
     .flags = CLI_HIDDEN},
    {CLI_FLAG, "no-mmap", 0, NULL, "read the model into memory instead of mapping it",
     FIELD(no_mmap)},
    {CLI_GROUP, .help = "General"},
    {CLI_FILE, "output", 'o', "FILE", "write there instead of standard output",
     FIELD(output), .flags = CLI_NO_CONFIG},
    {CLI_CHOICE, "color", 0, "WHEN", "auto, always or never", FIELD(color),
     .choices = "auto always never"},
    {CLI_FLAG, "quiet", 'q', NULL, "no notes and no progress", FIELD(quiet)},
    {CLI_COUNT, "verbose", 'v', NULL, "say what is used and why", FIELD(verbose),
     .most = 9},
    {CLI_FILE, "config", 0, "FILE", "read this configuration file", FIELD(config),
     .flags = CLI_NO_CONFIG},
    {CLI_FLAG, "no-config", 0, NULL, "read no configuration file", FIELD(no_config),
     .flags = CLI_NO_CONFIG},
    {CLI_FLAG, "show-config", 0, NULL, "print every value and where it came from",
     FIELD(show_config), .flags = CLI_NO_CONFIG},
    {CLI_HELP, "help", 'h', NULL, "print this help", .flags = CLI_NO_CONFIG},
    {CLI_FLAG, "version", 'V', NULL, "print the version; with -v, what it runs on",
     FIELD(version), .flags = CLI_NO_CONFIG},
    {CLI_DUMP, "dump-options", .flags = CLI_HIDDEN | CLI_NO_CONFIG},
    {CLI_END}};
#undef FIELD

#define FIELD(name) offsetof(struct record_options, name)
const struct cli_option record_option_rows[] = {
    {CLI_GROUP, .help = "Records"},
    {CLI_CHOICE, "from", 0, "FORMAT", "the input is text, csv, tsv or jsonl", FIELD(from),
     .choices = "text csv tsv jsonl"},
    {CLI_TEXT, "column", 'c', "NAME", "the column or key that holds the text",
     FIELD(column)},
    {CLI_INT, "column-index", 0, "N", "its number instead, from 1", FIELD(column_index),
     .least = 1, .most = 100000, .excludes = "column"},
    {CLI_FLAG, "strict", 0, NULL, "stop at the first bad record", FIELD(strict)},
    {CLI_FLAG, "replace-invalid", 0, NULL, "read invalid UTF-8 as U+FFFD",
     FIELD(replace_invalid)},
    {CLI_END}};
#undef FIELD

/* ---- The configuration file ---- */

struct config {
    struct cli *cli;
    const char *path;
};

static const char *const programs[] = {"bert-fill",    "bert-tokenize", "bert-batch",
                                       "bert-convert", "bert-serve",    "bert-score"};

static bool is_program(const char *name) {
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (strcmp(programs[i], name) == 0)
            return true;
    return false;
}

/* A key outside of sections must mean the same to all programs. */
static bool is_common(const struct cli_option *option) {
    for (const struct cli_option *row = common_option_rows; row->kind != CLI_END; row++)
        if (row == option)
            return true;
    return false;
}

/* 5 is a number and "5" is text; true is neither. */
static bool type_fits(const struct cli_option *option, const struct yaml_item *item) {
    bool text = option->kind == CLI_TEXT || option->kind == CLI_FILE ||
                option->kind == CLI_LIST || option->kind == CLI_CALL ||
                option->kind == CLI_CHOICE;
    return (text || !item->quoted) && (!item->listed || option->kind == CLI_LIST);
}

static enum bert_status take_item(void *arg, const struct yaml_item *item,
                                  enum yaml_part *culprit, struct bert_error *error) {
    struct config *config = arg;
    struct cli *cli = config->cli;
    size_t index;
    char why[300] = "", source[500];
    *culprit = YAML_SECTION;
    if (item->section != NULL && !is_program(item->section))
        return error_set(error, BERT_USAGE, "unknown section '%s'", item->section);
    if (item->section != NULL && strcmp(item->section, cli->program->name) != 0)
        return BERT_OK;
    if (item->section == NULL && is_program(item->key) && *item->value == '\0')
        return BERT_OK; /* a section of which all is commented out */
    *culprit = YAML_KEY;
    const struct cli_option *option = cli_find(cli, item->key, &index);
    if (option != NULL && option->flags & CLI_NO_CONFIG)
        return error_set(error, BERT_USAGE, "'%s' is for the command line alone",
                         item->key);
    if (option == NULL) {
        const char *near = cli_near_miss(cli, item->key);
        return error_set(error, BERT_USAGE,
                         near ? "unknown key '%s'; did you mean '%s'?"
                              : "unknown key '%s'",
                         item->key, near);
    }
    if (item->section == NULL && !is_common(option))
        return error_set(error, BERT_USAGE, "'%s' belongs in the section '%s:'",
                         item->key, cli->program->name);
    if (item->again)
        return error_set(error, BERT_USAGE, "'%s' is given twice", item->key);
    *culprit = YAML_VALUE;
    if (!type_fits(option, item))
        return error_set(error, BERT_USAGE, "%s: %s", item->key,
                         item->listed ? "takes one value, not a list"
                                      : "takes a value without quotes");
    snprintf(source, sizeof source, "%s:%zu", config->path,
             item->places[YAML_VALUE].line);
    if (!cli_assign(cli, index, item->value, CLI_CONFIG, source, why, sizeof why))
        return error_set(error, BERT_USAGE, "%s: %s", item->key, why);
    return BERT_OK;
}

/* FOLDER/bert-tools/config.yaml if it is there. */
static char *config_in(const char *folder) {
    char *path = path_join(folder, "bert-tools/config.yaml");
    if (path != NULL && !path_exists(path)) {
        free(path);
        path = NULL;
    }
    return path;
}

static char *find_config(void) {
    const char *home = getenv("HOME"), *user = getenv("XDG_CONFIG_HOME");
    const char *system = getenv("XDG_CONFIG_DIRS");
    char *path = NULL;
    if (user != NULL && user[0] == '/')
        path = config_in(user);
    else if (home != NULL && home[0] != '\0') {
        char *folder = path_join(home, ".config");
        path = folder ? config_in(folder) : NULL;
        free(folder);
    }
    if (system == NULL || *system == '\0')
        system = "/etc/xdg";
    while (path == NULL && *system != '\0') {
        size_t length = strcspn(system, ":");
        char *folder = strndup(system, length);
        if (folder != NULL && folder[0] == '/')
            path = config_in(folder);
        free(folder);
        system += length + (system[length] == ':');
    }
    return path;
}

static bool read_config(struct cli *cli, const struct common_options *common) {
    char *found = common->config ? NULL : find_config();
    const char *path = common->config ? common->config : found;
    struct config config = {cli, path};
    struct bert_error error;
    bool read = path == NULL || yaml_read(path, take_item, &config, &error) == BERT_OK ||
                (cli_fail(cli, &error), false);
    free(found);
    return read;
}

/* ---- All together ---- */

static void print_version(struct cli *cli, const struct common_options *common) {
    printf("%s (bert-tools) %s\n", cli->program->name, BERT_VERSION);
    if (common->verbose == 0)
        return;
    struct bert_machine machine;
    struct bert_error error;
    if (bert_machine(&machine, common->cpu, &error) != BERT_OK) {
        cli_fail(cli, &error);
        return;
    }
    printf("compiler: %s\nkernel: %s (this machine runs: %s)\nBLIS: %s\nCUDA: %s\n",
           BERT_COMPILER, machine.kernel, bert_kernels(), machine.blis, machine.cuda);
}

bool common_options_read(struct cli *cli, const struct cli_program *program,
                         const struct cli_table *tables, struct common_options *common,
                         int argc, char **argv) {
    *common = (struct common_options){.device = "auto"};
    mapping_guard(program->name);
    if (!cli_parse(cli, program, tables, argc, argv))
        return false;
    if (!cli_read_environment(cli) || (!common->no_config && !read_config(cli, common)) ||
        !cli_exclude(cli))
        return false;
    if (common->jobs == 0)
        common->jobs = cpu_usable_cores();
    cli->quiet = common->quiet;
    for (const struct cli_table *table = tables; table->rows != NULL; table++)
        if (table->rows == record_option_rows)
            cli->strict = ((const struct record_options *)table->values)->strict;
    if (common->version)
        print_version(cli, common);
    else if (common->show_config)
        cli_show_config(cli);
    else
        return true;
    return false;
}

static void say_what_runs(const struct cli *cli, const struct bert_model *model) {
    static const char *const names[] = {"?", "f32", "f16", "int8"};
    struct bert_info info;
    bert_model_info(model, &info);
    fprintf(stderr, "%s: model %s (%s), device %s: %s, kernel %s\n", cli->program->name,
            info.path, names[info.precision], info.device, info.device_reason,
            info.kernel);
}

enum bert_status common_options_try(struct cli *cli, const struct common_options *common,
                                    unsigned flags, struct bert_model **model,
                                    struct bert_error *error) {
    bool prefer_cuda = flags & OPEN_PREFER_CUDA;
    struct bert_open_options options = {
        .model = common->model,
        .prefix = BERT_PREFIX,
        .precision = (enum bert_precision)common->precision,
        .device = strcmp(common->device, "auto") != 0 ? common->device
                  : prefer_cuda                       ? "auto-cuda"
                                                      : "auto-cpu",
        .cpu = common->cpu,
        .tokenizer_only = flags & OPEN_TOKENIZER,
        .no_mmap = common->no_mmap,
        .note = cli_note_line,
        .note_arg = cli,
    };
    enum bert_status status = bert_open(model, &options, error);
    if (status == BERT_OK && common->verbose > 0 && !(flags & OPEN_TOKENIZER))
        say_what_runs(cli, *model);
    return status;
}

struct bert_model *common_options_open(struct cli *cli,
                                       const struct common_options *common,
                                       unsigned flags) {
    struct bert_model *model = NULL;
    struct bert_error error;
    if (common_options_try(cli, common, flags, &model, &error) != BERT_OK)
        cli_fail(cli, &error);
    return model;
}
