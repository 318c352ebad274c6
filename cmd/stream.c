/* SPDX-License-Identifier: MIT
 *
 * stream.c: opens inputs and output around a job, and tells the user what failed. */
#include "stream.h"

#include "io/json.h"

#include <string.h>

enum { SHOWN_NOTES = 10 };

/* ---- The job's functions ---- */

static struct span cell_value(const struct record *record, size_t cell) {
    return cell < record->count ? record->cells[cell].value : (struct span){"", 0};
}

static enum bert_status prepare(void *context, const struct record *record,
                                struct buffer *text, struct buffer *before,
                                struct bert_error *error) {
    const struct stream *stream = context;
    struct span value = cell_value(record, stream->cell);
    buffer_add(text, value.data, value.size);
    if (stream->before_column || stream->before_member) {
        value = cell_value(record, stream->before_cell);
        buffer_add(before, value.data, value.size);
    } else if (stream->before) {
        buffer_add_text(before, stream->before);
    }
    return text->failed || before->failed ? error_memory(error) : BERT_OK;
}

static enum bert_status process(void *context, struct bert_session *session,
                                const struct bert_text *texts,
                                struct job_answer *const *answers, size_t count,
                                struct bert_error *error) {
    const struct stream *stream = context;
    return stream->process(stream->arg, session, texts, answers, count, error);
}

static void write_record(void *context, const struct record *record, struct span answer,
                         const char *why, struct sink *sink) {
    const struct stream *stream = context;
    struct span text = cell_value(record, stream->cell);
    if (stream->cell >= record->count)
        text = record->raw;
    stream->write(stream->arg, record, text, answer, why, sink);
}

static const char *place(const struct stream *stream, const char *file) {
    return file || !stream->operands_are_texts || stream->cli->operand_count == 0
               ? file
               : "operand";
}

static bool failed(void *arg, const char *file, uint64_t line, const char *why) {
    struct stream *stream = arg;
    return cli_record_error(stream->cli, place(stream, file), line, why);
}

static void note(void *arg, const char *file, uint64_t line, const char *text) {
    struct stream *stream = arg;
    const char *where = place(stream, file);
    if (stream->notes++ < SHOWN_NOTES)
        cli_note(stream->cli, "%s:%llu: %s", where ? where : "standard input",
                 (unsigned long long)line, text);
}

/* ---- Opening ---- */

static enum bert_status find_cells(struct stream *stream, struct records *records,
                                   struct bert_error *error) {
    const struct record_options *options = stream->records;
    enum bert_status status = BERT_OK;
    if (stream->column)
        status = records_column(records, span_of(stream->column), &stream->cell, error);
    else if (options->column_index)
        status = records_column_number(records, (size_t)options->column_index,
                                       &stream->cell, error);
    else
        status = records_text_column(records, "with -c", &stream->cell, error);
    if (status == BERT_OK && stream->before_column)
        status = records_column(records, span_of(stream->before_column),
                                &stream->before_cell, error);
    else if (status == BERT_OK && stream->before_member)
        status = records_optional_member(records, stream->before_member,
                                         &stream->before_cell, error);
    return status;
}

static enum bert_status open_records(struct stream *stream, struct job *job,
                                     struct records **records, struct bert_error *error) {
    const char *const *operands = (const char *const *)stream->cli->operands;
    size_t count = (size_t)stream->cli->operand_count;
    int from = stream->records->from;
    struct records_options options = {.replace_invalid =
                                          stream->records->replace_invalid};
    options.source.encoding = ENCODING_UTF8;
    options.format = (enum record_format)from;
    enum bert_status status = BERT_OK;
    if (from == FORMAT_UNSET)
        status = record_format_of_all(operands, stream->operands_are_texts ? 0 : count,
                                      FORMAT_TEXT, &options.format, error);
    if (status != BERT_OK)
        return status;
    job_watch(job, &options.source);
    if (stream->operands_are_texts && count > 0)
        return records_open_texts(records, operands, count, &options, error);
    return records_open(records, operands, count, &options, error);
}

static enum bert_status run(struct stream *stream, struct job *job, struct sink *sink,
                            struct bert_error *error) {
    const struct job_ops ops = {stream, prepare, process, write_record};
    struct records *records = NULL;
    struct job_report report;
    enum bert_status status = open_records(stream, job, &records, error);
    if (status == BERT_OK)
        status = find_cells(stream, records, error);
    if (status == BERT_OK && stream->header) {
        sink_text(sink, stream->header);
        sink_text(sink, "\n");
    }
    if (status == BERT_OK)
        status = job_run(job, records, &ops, sink, &report, error);
    records_close(records);
    return status;
}

void stream_run(struct stream *stream) {
    struct bert_error error = {0};
    struct job_options options = {.model = stream->model,
                                  .threads = stream->common->jobs,
                                  .batch_tokens = stream->batch_tokens,
                                  .failed = failed,
                                  .note = note,
                                  .arg = stream};
    struct job *job = NULL;
    struct sink *sink = NULL;
    enum bert_status status = job_new(&job, &options, &error);
    if (status == BERT_OK)
        status = sink_open(&sink, stream->common->output, false, &error);
    if (status == BERT_OK)
        status = run(stream, job, sink, &error);
    bool gone = sink && sink_reader_gone(sink);
    if (sink) {
        struct bert_error closing;
        /* Half a table takes no name, also when --strict stopped it. */
        enum sink_end end = status == BERT_OK ? SINK_COMMIT : SINK_DROP;
        enum bert_status closed = sink_close(sink, end, &closing);
        if (status == BERT_OK && closed != BERT_OK) {
            status = closed;
            error = closing;
        }
    }
    job_free(job);
    if (stream->notes > SHOWN_NOTES)
        cli_note(stream->cli, "%zu notes, the first %d are shown", stream->notes,
                 SHOWN_NOTES);
    if (gone || status == BERT_RECORD)
        stream->cli->status = gone ? BERT_IO : BERT_RECORD;
    else if (status != BERT_OK)
        cli_fail(stream->cli, &error);
}

/* ---- Shapes of output ---- */

void stream_put_line(struct buffer *out, const char *bytes, size_t size) {
    size_t from = out->size;
    buffer_add(out, bytes, size);
    for (size_t i = from; !out->failed && i < out->size; i++)
        if (out->data[i] == '\n' || out->data[i] == '\r')
            out->data[i] = ' ';
}

void stream_write_rows(const struct record *record, struct span answer,
                       struct sink *sink) {
    char number[24];
    int size =
        snprintf(number, sizeof number, "%llu\t", (unsigned long long)record->number);
    while (answer.size > 0) {
        const char *end = memchr(answer.data, '\n', answer.size);
        size_t line = end ? (size_t)(end - answer.data) + 1 : answer.size;
        sink_write(sink, number, (size_t)size);
        sink_write(sink, answer.data, line);
        answer.data += line;
        answer.size -= line;
    }
}

void stream_write_object(const struct record *record, struct span text,
                         struct span answer, const char *why, struct sink *sink) {
    struct buffer line = {0};
    buffer_printf(&line, "{\"record\":%llu,", (unsigned long long)record->number);
    if (why) {
        buffer_add_text(&line, "\"text\":");
        json_put_text(&line, text.data, text.size);
        buffer_add_text(&line, ",\"error\":");
        json_put_text(&line, why, strlen(why));
        buffer_add_text(&line, "}\n");
    }
    if (line.failed) /* no record may pass for a whole one */
        sink_no_memory(sink);
    sink_write(sink, line.data, line.size);
    sink_write(sink, answer.data, answer.size);
    buffer_release(&line);
}
