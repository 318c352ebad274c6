/* SPDX-License-Identifier: MIT
 *
 * batch_run.c: the job's functions for bert-batch, and what is opened around it. */
#include "batch_run.h"

#include "batch_state.h"
#include "signals.h"

#include "base/clock.h"
#include "io/progress.h"
#include "io/template.h"
#include "service/sheet.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { SHOWN_NOTES = 10 };

struct run {
    const struct batch *batch;
    struct cli *cli;
    struct bert_model *model;
    struct fill_plan plan;
    struct template text; /* without pieces: the column cell */
    size_t cell, before_cell;
    struct job *job;
    struct records *records;
    struct sheet sheet;
    struct sink *sink;
    struct batch_state state;
    struct progress progress;
    struct progress_state shown;
    size_t notes;
    const char *gb18030_file; /* the last that was said to be so */
};

/* ---- What the user sees ---------------------------------------------------------- */

static void say(struct buffer *text) {
    if (text->size > 0) /* an empty buffer has no data, and NULL is not for fwrite */
        fwrite(text->data, 1, text->size, stderr);
    buffer_release(text);
}

static void clear_progress(struct run *run) {
    struct buffer text = {0};
    progress_clear(&run->progress, &text);
    say(&text);
}

static void show_progress(struct run *run, const struct job_state *state) {
    struct buffer text = {0};
    run->shown.records = run->state.first.records + state->records;
    run->shown.errors = run->state.first.failed + state->failed;
    run->shown.unique = state->unique;
    progress_show(&run->progress, &run->shown, clock_seconds(), &text);
    say(&text);
}

static void tick(void *arg, const struct job_state *state) {
    show_progress(arg, state);
}

static bool failed(void *arg, const char *file, uint64_t line, const char *why) {
    struct run *run = arg;
    clear_progress(run);
    return cli_record_error(run->cli, file, line, why);
}

static void note(void *arg, const char *file, uint64_t line, const char *text) {
    struct run *run = arg;
    clear_progress(run);
    if (run->notes++ < SHOWN_NOTES)
        cli_note(run->cli, "%s:%llu: %s", file ? file : "standard input",
                 (unsigned long long)line, text);
}

/* Once for each file. */
static void say_encoding(struct run *run, const struct record *record) {
    const char *file = record->file ? record->file : "standard input";
    if (record->encoding != ENCODING_GB18030 || run->gb18030_file == file ||
        run->batch->args->encoding != ENCODING_AUTO)
        return;
    run->gb18030_file = file;
    clear_progress(run);
    cli_note(run->cli, "%s is read as GB18030; the output is UTF-8", file);
}

static enum bert_status written(void *arg, const struct job_state *state,
                                const struct record *last, struct bert_error *error) {
    struct run *run = arg;
    run->shown.taken = last->taken;
    show_progress(run, state);
    return batch_state_written(&run->state, state, last, run->sink, clock_seconds(),
                               error);
}

/* ---- The job --------------------------------------------------------------------- */

static void put_cell(struct buffer *out, const struct record *record, size_t cell) {
    if (cell < record->count)
        buffer_add(out, record->cells[cell].value.data, record->cells[cell].value.size);
}

static enum bert_status prepare(void *context, const struct record *record,
                                struct buffer *text, struct buffer *before,
                                struct bert_error *error) {
    const struct run *run = context;
    if (run->text.count > 0)
        template_put(&run->text, record, text);
    else
        put_cell(text, record, run->cell);
    if (run->batch->fill->context)
        buffer_add(before, run->plan.context, run->plan.context_length);
    else
        put_cell(before, record, run->before_cell);
    return BERT_OK;
}

static enum bert_status process(void *context, struct bert_session *session,
                                const struct bert_text *texts,
                                struct job_answer *const *answers, size_t count,
                                struct bert_error *error) {
    const struct run *run = context;
    struct bert_result *results = calloc(count, sizeof *results);
    if (!results)
        return error_memory(error);
    enum bert_status status =
        bert_fill(session, texts, count, &run->plan.options, results, error);
    for (size_t i = 0; i < count && !status; i++) {
        if (results[i].note)
            job_note(answers[i], results[i].note);
        if (results[i].status)
            job_fail(answers[i], results[i].error);
        else
            sheet_put_answer(&answers[i]->out, &run->sheet.look, &texts[i], &results[i]);
    }
    free(results);
    return status;
}

static void write_row(void *context, const struct record *record, struct span answer,
                      const char *why, struct sink *sink) {
    struct run *run = context;
    say_encoding(run, record);
    sheet_put_row(&run->sheet, record, answer, why, sink);
}

/* ---- Opening --------------------------------------------------------------------- */

static enum bert_status open_records(struct run *run, struct bert_error *error) {
    const struct batch *batch = run->batch;
    const char *const *paths = (const char *const *)run->cli->operands;
    struct records_options options = {.format = run->sheet.from,
                                      .delimiter = batch->args->delimiter,
                                      .no_header = batch->args->no_header,
                                      .replace_invalid = batch->records->replace_invalid};
    options.source.encoding = batch->args->encoding;
    if (run->state.resuming && run->state.first.encoding != ENCODING_AUTO &&
        run->cli->operand_count <= 1)
        options.source.encoding = run->state.first.encoding;
    job_watch(run->job, &options.source);
    return records_open(&run->records, paths, (size_t)run->cli->operand_count, &options,
                        error);
}

static enum bert_status find_columns(struct run *run, struct bert_error *error) {
    const struct record_options *options = run->batch->records;
    const char *before = run->batch->fill->context_column;
    enum bert_status status;
    if (run->text.count > 0)
        status = template_resolve(&run->text, run->records, error);
    else if (options->column)
        status =
            records_column(run->records, span_of(options->column), &run->cell, error);
    else if (options->column_index)
        status = records_column_number(run->records, (size_t)options->column_index,
                                       &run->cell, error);
    else
        status = records_text_column(run->records, "with -c", &run->cell, error);
    if (!status && before)
        status = records_column(run->records, span_of(before), &run->before_cell, error);
    else if (!status)
        status =
            records_optional_member(run->records, "context", &run->before_cell, error);
    return status ? status : sheet_open(&run->sheet, run->records, error);
}

static bool choose_formats(struct run *run) {
    const struct batch *batch = run->batch;
    const struct batch_args *args = batch->args;
    struct sheet *sheet = &run->sheet;
    int from = batch->records->from, to = args->to;
    struct bert_error error;
    sheet->from = (enum record_format)from;
    if (from == FORMAT_UNSET &&
        record_format_of_all((const char *const *)run->cli->operands,
                             (size_t)run->cli->operand_count, FORMAT_CSV, &sheet->from,
                             &error) != BERT_OK) {
        cli_usage(run->cli, "%s", error.message);
        return false;
    }
    sheet->look.to = to != FORMAT_UNSET
                         ? (enum record_format)to
                         : record_format_of(batch->common->output, sheet->from);
    sheet->look.delimiter = args->delimiter;
    sheet->look.guard = args->guard;
    sheet->select = args->select;
    sheet->prefix = args->prefix;
    sheet->no_header = args->no_header;
    sheet->crlf = args->crlf;
    sheet->bom = args->bom;
    if (!args->bom || sheet->look.to == FORMAT_CSV || sheet->look.to == FORMAT_TSV)
        return true;
    cli_usage(run->cli, "--bom is for CSV and TSV");
    return false;
}

/* The template and the words, for which only the model is needed. */
static bool plan_fill(struct run *run) {
    const struct batch *batch = run->batch;
    struct bert_error error;
    struct buffer empty = {0};
    const char *baseline = NULL;
    if (batch->args->text_template) {
        if (template_parse(&run->text, batch->args->text_template, &error)) {
            cli_usage(run->cli, "--template: %s", error.message);
            return false;
        }
        template_put(&run->text, NULL, &empty);
        baseline = buffer_text(&empty);
    }
    run->model = common_options_open(run->cli, batch->common, OPEN_PREFER_CUDA);
    bool planned = run->model && fill_options_plan(run->cli, batch->fill, run->model, 1,
                                                   1, baseline, &run->plan);
    buffer_release(&empty);
    struct sheet_look *look = &run->sheet.look;
    look->k = run->plan.options.k;
    look->words = run->plan.words != NULL;
    look->labelled = run->plan.labelled;
    look->whole = batch->fill->joint || batch->fill->span_max > 0;
    return planned;
}

static enum bert_status open_job(struct run *run, struct bert_error *error) {
    const struct batch_args *args = run->batch->args;
    struct job_options options = {.model = run->model,
                                  .threads = run->batch->common->jobs,
                                  .batch_tokens = (size_t)args->batch_tokens,
                                  .keep_equal = args->keep_equal,
                                  .failed = failed,
                                  .note = note,
                                  .written = written,
                                  .tick = tick,
                                  .arg = run};
    enum bert_status status = job_new(&run->job, &options, error);
    if (!status)
        signals_catch(run->job);
    return status;
}

/* Reads over the rows that another run has answered. */
static enum bert_status skip_rows(struct run *run, struct bert_error *error) {
    struct record record = {0};
    bool end = false;
    enum bert_status status = BERT_OK;
    uint64_t rows = run->state.first.records;
    while (!status && !end && record.number < rows && !signals_caught()) {
        status = records_next(run->records, &record, &end, error);
        if (!status && !end)
            sheet_pass_row(&run->sheet, &record);
    }
    if (!status && !signals_caught())
        status = batch_state_check(&run->state, &record, error);
    record_release(&record);
    return status;
}

static enum bert_status open_output(struct run *run, struct bert_error *error) {
    bool resuming = run->state.resuming;
    enum bert_status status = resuming ? skip_rows(run, error) : BERT_OK;
    if (!status)
        status = sink_open(&run->sink, run->batch->common->output, true, error);
    if (!status && resuming)
        return sink_cut(run->sink, run->state.first.output, error);
    if (!status) /* before what it speaks of is cut: a kill between must not leave it */
        batch_state_remove(&run->state);
    if (!status && run->state.path)
        status = sink_cut(run->sink, 0, error);
    struct records_progress progress;
    records_progress(run->records, &progress);
    if (!status && !progress.empty)
        sheet_put_header(&run->sheet, run->records, run->sink);
    return status;
}

static enum bert_status open_all(struct run *run, struct bert_error *error) {
    enum bert_status status = open_job(run, error);
    if (!status)
        status =
            batch_state_open(&run->state, run->batch, run->model, &run->sheet, error);
    if (!status)
        status = open_records(run, error);
    if (!status)
        status = find_columns(run, error);
    return status ? status : open_output(run, error);
}

/* ---- Running --------------------------------------------------------------------- */

static void summarise(struct run *run, const struct job_report *report) {
    struct records_progress progress;
    records_progress(run->records, &progress);
    clear_progress(run);
    if (progress.empty)
        cli_note(run->cli, "the input is empty: not even a header");
    if (run->notes > SHOWN_NOTES)
        cli_note(run->cli, "%zu notes, the first %d are shown", run->notes, SHOWN_NOTES);
    if (run->batch->common->verbose == 0)
        return;
    const struct job_state *state = &report->state;
    fprintf(
        stderr,
        "%s: %llu rows, %llu errors, %llu unique, %.3g s, %.0f rows/s, batch p50 %.3g "
        "ms, p95 %.3g ms\n",
        run->cli->program->name, (unsigned long long)state->records,
        (unsigned long long)state->failed, (unsigned long long)state->unique,
        report->seconds,
        report->seconds > 0 ? (double)state->records / report->seconds : 0,
        report->batch_p50 * 1e3, report->batch_p95 * 1e3);
}

static enum bert_status run_job(struct run *run, bool *stopped,
                                struct bert_error *error) {
    const struct job_ops ops = {run, prepare, process, write_row};
    const struct batch *batch = run->batch;
    struct records_progress progress;
    records_progress(run->records, &progress);
    run->shown.size = progress.size;
    bool terminal = isatty(STDERR_FILENO);
    progress_init(&run->progress,
                  batch->common->quiet    ? PROGRESS_NONE
                  : terminal              ? PROGRESS_TERMINAL
                  : batch->args->progress ? PROGRESS_LOG
                                          : PROGRESS_NONE,
                  run->state.first.records, clock_seconds());
    struct job_report report;
    enum bert_status status =
        job_run(run->job, run->records, &ops, run->sink, &report, error);
    *stopped = report.stopped && signals_caught();
    summarise(run, &report);
    return status;
}

/* OUT is given its name when all is done; else OUT.part stays where one can go on from
 * it. The first error counts. */
static enum bert_status close_output(struct run *run, enum bert_status status,
                                     bool stopped, struct bert_error *error) {
    struct bert_error later;
    bool whole = !status && !stopped;
    if (stopped || status == BERT_RECORD)
        batch_state_save(&run->state, run->sink, status ? &later : error);
    enum sink_end end = whole ? SINK_COMMIT : run->state.saved ? SINK_KEEP : SINK_DROP;
    enum bert_status closed = sink_close(run->sink, end, status ? &later : error);
    if (!status && !closed && whole)
        batch_state_remove(&run->state);
    return status ? status : closed;
}

static void finish(struct run *run, enum bert_status status, bool gone,
                   const struct bert_error *error) {
    struct cli *cli = run->cli;
    if (gone || (status == BERT_RECORD && cli->failed_records > 0))
        cli->status = gone ? BERT_IO : BERT_RECORD;
    else if (status)
        cli_fail(cli, error);
    else if (run->state.first.failed > 0)
        cli->status = BERT_RECORD; /* rows that failed before a resume count, too */
}

int batch_run(const struct batch *batch) {
    struct run run = {.batch = batch, .cli = batch->cli};
    struct bert_error error = {0};
    bool stopped = false, gone = false;
    if (choose_formats(&run) && plan_fill(&run)) {
        enum bert_status status = open_all(&run, &error);
        if (signals_caught() && (!status || (status == BERT_IO && !run.sink)))
            stopped = true, status = BERT_OK; /* maybe in the opening of a pipe */
        else if (!status)
            status = run_job(&run, &stopped, &error);
        gone = run.sink && sink_reader_gone(run.sink);
        if (run.sink)
            status = close_output(&run, status, stopped, &error);
        if (stopped && !status)
            cli_note(run.cli, "stopped after %llu rows%s",
                     (unsigned long long)run.shown.records,
                     run.state.saved ? "; --resume goes on from there" : "");
        finish(&run, status, gone, &error);
    }
    signals_release();
    records_close(run.records);
    job_free(run.job);
    sheet_release(&run.sheet);
    template_release(&run.text);
    fill_options_release(&run.plan);
    batch_state_release(&run.state);
    bert_close(run.model);
    return stopped ? signals_caught() : 0;
}
