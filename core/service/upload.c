/* SPDX-License-Identifier: MIT
 *
 * upload.c: a CSV file in, a row of answers for each of its rows out, in order. A thread
 * of its own reads the file and keeps a window of rows in the batcher's bulk lane; what
 * they give goes into a bounded buffer that the HTTP thread sends from:
 *
 *     thread: file ──► ring of rows ──► batcher ──► ring ──► buffer ──► HTTP thread
 *
 * The two share the upload, which the last of them frees. */
#include "io/records.h"
#include "service/ask.h"
#include "service/batch_row.h"
#include "service/multipart.h"
#include "service/question.h"
#include "service/serve_state.h"

#include <strings.h>

enum { OUT_HIGH = 256 << 10, WINDOW = SERVE_UPLOAD_WINDOW };

struct row {
    struct ticket ticket; /* first: a ticket is its row */
    struct upload *upload;
    struct buffer id, text;
    struct question question;
    struct outcome *outcome; /* or NULL with error */
    struct bert_error error;
    bool done;
};

struct upload {
    struct serve *serve;
    struct http_call *call; /* the thread may use it until it streams; then under lock */
    struct buffer body;
    struct span file;
    enum batch_format format;
    struct buffer column, words; /* copies: the target goes with the call */
    struct bert_words *compiled; /* words, or NULL */
    bool has_column;

    struct served_model *model;
    struct bert_session *session;
    struct records *records;
    struct record record;
    size_t text_cell, id_cell;
    bool has_id;
    struct row rows[WINDOW];
    size_t first, count; /* of the ring */
    uint64_t written;

    pthread_mutex_t lock;
    pthread_cond_t changed; /* a row is done, or the buffer has room */
    struct buffer out;
    size_t sent; /* of out */
    bool ended, aborted, closed, waiting;
    atomic_int users;
};

static void drop(struct upload *upload) {
    if (atomic_fetch_sub(&upload->users, 1) != 1)
        return;
    buffer_release(&upload->body);
    buffer_release(&upload->out);
    buffer_release(&upload->column);
    buffer_release(&upload->words);
    pthread_mutex_destroy(&upload->lock);
    pthread_cond_destroy(&upload->changed);
    free(upload);
}

/* ---- The HTTP thread's side -------------------------------------------------------- */

static ptrdiff_t read_out(void *arg, char *out, size_t room) {
    struct upload *upload = arg;
    pthread_mutex_lock(&upload->lock);
    size_t left = upload->out.size - upload->sent;
    ptrdiff_t count = (ptrdiff_t)(left < room ? left : room);
    if (count > 0) {
        memcpy(out, upload->out.data + upload->sent, (size_t)count);
        upload->sent += (size_t)count;
        if (upload->sent == upload->out.size)
            upload->out.size = upload->sent = 0;
        pthread_cond_signal(&upload->changed);
    } else if (upload->aborted) {
        count = HTTP_ABORT;
    } else if (upload->ended) {
        count = HTTP_END;
    } else {
        http_wait(upload->call);
        upload->waiting = true;
    }
    pthread_mutex_unlock(&upload->lock);
    return count;
}

static void close_out(void *arg) {
    struct upload *upload = arg;
    pthread_mutex_lock(&upload->lock);
    upload->closed = true;
    pthread_cond_signal(&upload->changed);
    pthread_mutex_unlock(&upload->lock);
    drop(upload);
}

static void wake_reader(struct upload *upload) { /* under the lock */
    if (upload->waiting && !upload->closed) {
        upload->waiting = false;
        http_wake(upload->call);
    }
}

/* ---- Waiting, in the upload's thread ----------------------------------------------- */

static bool is_over(const struct upload *upload) { /* under the lock */
    return upload->closed || atomic_load(&upload->serve->ending);
}

static void wait_for_change(struct upload *upload) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1; /* nobody signals that the server is ending */
    pthread_cond_timedwait(&upload->changed, &upload->lock, &until);
}

/* false: nobody wants it any more. */
static bool send_out(struct upload *upload, const struct buffer *bytes) {
    pthread_mutex_lock(&upload->lock);
    while (upload->out.size - upload->sent > OUT_HIGH && !is_over(upload))
        wait_for_change(upload);
    bool wanted = !is_over(upload);
    if (wanted) {
        buffer_add(&upload->out, bytes->data, bytes->size);
        wanted = !upload->out.failed && !bytes->failed;
        wake_reader(upload);
    }
    pthread_mutex_unlock(&upload->lock);
    return wanted;
}

/* ---- Rows -------------------------------------------------------------------------- */

static void row_is_done(struct ticket *ticket, struct outcome *outcome,
                        const struct bert_error *error, struct bert_session *session,
                        struct served_model *model) {
    struct row *row = (struct row *)ticket;
    struct upload *upload = row->upload;
    struct span key = {row->question.key.data, row->question.key.size};
    if (outcome)
        cache_put(upload->serve->cache, key, outcome);
    pthread_mutex_lock(&upload->lock);
    row->outcome = outcome ? outcome_use(outcome) : NULL;
    if (!outcome)
        row->error = *error;
    row->done = true;
    pthread_cond_signal(&upload->changed);
    pthread_mutex_unlock(&upload->lock);
}

static void put_row(struct buffer *out, const struct upload *upload,
                    const struct row *row) {
    struct batch_row shown = {.id = {row->id.data, row->id.size},
                              .text = {row->text.data, row->text.size},
                              .id_is_number = !upload->has_id,
                              .outcome = row->outcome,
                              .error = row->error.message};
    batch_put_row(out, upload->format, &shown, upload->written == 0);
}

static void row_release(struct row *row) {
    outcome_drop(row->outcome);
    question_release(&row->question);
    buffer_release(&row->id);
    buffer_release(&row->text);
    memset(row, 0, sizeof *row);
}

/* Waits for the oldest row and writes it. */
static bool finish_row(struct upload *upload) {
    struct row *row = &upload->rows[upload->first];
    pthread_mutex_lock(&upload->lock);
    while (!row->done)
        wait_for_change(upload); /* the batcher finishes every ticket */
    pthread_mutex_unlock(&upload->lock);
    struct buffer line = {0};
    put_row(&line, upload, row);
    bool sent = send_out(upload, &line);
    buffer_release(&line);
    row_release(row);
    upload->first = (upload->first + 1) % WINDOW;
    upload->count--;
    upload->written++;
    return sent;
}

static struct span cell_value(const struct record *record, size_t cell) {
    return cell < record->count ? record->cells[cell].value : (struct span){"", 0};
}

static bool still_wanted(struct ticket *ticket) {
    struct upload *upload = ((struct row *)ticket)->upload;
    pthread_mutex_lock(&upload->lock);
    bool wanted = !upload->closed;
    pthread_mutex_unlock(&upload->lock);
    return wanted;
}

/* A row that is answered already, by the cache or by an error, is done at once. */
static enum bert_status ask_row(struct upload *upload, struct row *row) {
    struct question_options options = {
        .k = upload->words.size ? 0 : 1,
        .words = {{upload->words.data, upload->words.size}, false},
        .compiled = upload->compiled};
    const char *code;
    enum bert_status status = question_check(
        &row->question, upload->session, upload->model,
        (struct span){row->text.data, row->text.size}, &options, &code, &row->error);
    if (status != BERT_OK)
        return status;
    struct metrics *metrics = &upload->serve->metrics;
    struct span key = {row->question.key.data, row->question.key.size};
    row->outcome = cache_get(upload->serve->cache, key);
    atomic_fetch_add(row->outcome ? &metrics->cache_hits : &metrics->cache_misses, 1);
    if (row->outcome)
        return BERT_OK;
    row->done = false;
    row->ticket = (struct ticket){.text = {row->text.data, row->text.size, NULL, 0},
                                  .k = options.k,
                                  .words = options.words,
                                  .cost = row->question.cost,
                                  .bulk = true,
                                  .wanted = still_wanted,
                                  .done = row_is_done};
    struct ticket *ticket = &row->ticket;
    if (batcher_submit(upload->serve->batcher, &ticket, 1))
        return BERT_OK;
    row->done = true;
    return error_set(&row->error, BERT_IO, "the server is shutting down");
}

static void take_record(struct upload *upload) {
    const struct record *record = &upload->record;
    struct row *row = &upload->rows[(upload->first + upload->count++) % WINDOW];
    struct span text = cell_value(record, upload->text_cell);
    struct span id =
        upload->has_id ? cell_value(record, upload->id_cell) : (struct span){"", 0};
    row->upload = upload;
    row->done = true;
    buffer_add(&row->text, text.data, text.size);
    buffer_add(&row->id, id.data, id.size);
    if (!upload->has_id)
        buffer_printf(&row->id, "%llu", (unsigned long long)record->number);
    if (record->status != BERT_OK)
        error_set(&row->error, BERT_RECORD, "line %llu: %s",
                  (unsigned long long)record->line, record->error);
    else if (row->text.failed || row->id.failed)
        error_memory(&row->error);
    else if (text.size > upload->serve->options.max_body) /* tokens take 64 times that */
        error_set(&row->error, BERT_RECORD, "line %llu: longer than %zu bytes",
                  (unsigned long long)record->line, upload->serve->options.max_body);
    else
        ask_row(upload, row);
}

/* false: cut short. */
static bool run_rows(struct upload *upload) {
    bool end = false, wanted = true;
    struct bert_error error;
    while (wanted && !end) {
        if (records_next(upload->records, &upload->record, &end, &error) != BERT_OK)
            wanted = false;
        if (!wanted || end)
            break;
        if (upload->count == WINDOW)
            wanted = finish_row(upload);
        take_record(upload);
    }
    while (upload->count) /* also when nobody wants them: tickets point into the ring */
        wanted = finish_row(upload) && wanted;
    return wanted;
}

/* ---- The upload -------------------------------------------------------------------- */

static enum bert_status open_file(struct upload *upload, struct bert_error *error) {
    struct records_options options = {.format = FORMAT_CSV};
    enum bert_status status = records_open_memory(&upload->records, upload->file.data,
                                                  upload->file.size, &options, error);
    if (status != BERT_OK)
        return status;
    struct span column = {upload->column.data, upload->column.size};
    status = upload->has_column
                 ? records_column(upload->records, column, &upload->text_cell, error)
                 : records_text_column(upload->records, "with ?column=NAME",
                                       &upload->text_cell, error);
    if (status != BERT_OK)
        return status;
    upload->has_id =
        records_column(upload->records, span_of("id"), &upload->id_cell, NULL) == BERT_OK;
    return bert_session_new(&upload->session, upload->model->model, 1, error);
}

static enum bert_status check_words(struct upload *upload, struct bert_error *error) {
    if (upload->words.size == 0)
        return BERT_OK;
    return bert_words_new(&upload->compiled, upload->model->model, upload->words.data,
                          upload->words.size, false, NULL, error);
}

/* For another upload, as soon as no text of this one waits: before the client, who may
 * come again at once, sees the end. */
static void make_room(struct upload *upload) {
    atomic_fetch_sub(&upload->serve->uploads, 1);
}

static void refuse(struct upload *upload, const struct bert_error *error) {
    make_room(upload);
    serve_failure(upload->call, error, "bad_csv");
}

static void stream(struct upload *upload) {
    struct http_source source = {read_out, close_out, upload};
    struct buffer edge = {0};
    atomic_fetch_add(&upload->users, 1); /* for close_out */
    http_stream(upload->call, 200, batch_format_type(upload->format), &source);
    batch_put_head(&edge, upload->format);
    bool whole = send_out(upload, &edge) && run_rows(upload);
    make_room(upload);
    edge.size = 0;
    batch_put_tail(&edge, upload->format);
    whole = whole && send_out(upload, &edge);
    buffer_release(&edge);
    pthread_mutex_lock(&upload->lock);
    upload->ended = true;
    upload->aborted = !whole;
    wake_reader(upload);
    pthread_mutex_unlock(&upload->lock);
}

static void *upload_run(void *arg) {
    struct upload *upload = arg;
    struct serve *serve = upload->serve;
    struct bert_error error;
    enum bert_status status = open_file(upload, &error);
    if (status == BERT_USAGE)
        error.status = BERT_RECORD; /* not the words: the file */
    if (status == BERT_OK)
        status = check_words(upload, &error);
    if (status == BERT_OK)
        stream(upload);
    else
        refuse(upload, &error);
    records_close(upload->records);
    record_release(&upload->record);
    bert_session_free(upload->session);
    bert_words_free(upload->compiled);
    served_model_drop(upload->model);
    drop(upload);
    pthread_mutex_lock(&serve->upload_lock);
    serve->upload_threads--;
    pthread_cond_signal(&serve->upload_ended);
    pthread_mutex_unlock(&serve->upload_lock);
    return NULL;
}

static bool start_thread(struct upload *upload) {
    struct serve *serve = upload->serve;
    pthread_t thread;
    pthread_mutex_lock(&serve->upload_lock);
    bool started = !atomic_load(&serve->ending) &&
                   pthread_create(&thread, NULL, upload_run, upload) == 0;
    if (started) {
        pthread_detach(thread);
        serve->upload_threads++;
    }
    pthread_mutex_unlock(&serve->upload_lock);
    return started;
}

static bool read_options(struct upload *upload, struct http_call *call) {
    struct span value = span_of("json");
    target_query(&call->target, "format", &value);
    if (!batch_format_parse(value, &upload->format)) {
        serve_error(call, 400, "bad_request", "\"format\" must be json, jsonl or csv");
        return false;
    }
    upload->has_column = target_query(&call->target, "column", &value);
    if (upload->has_column)
        buffer_add(&upload->column, value.data, value.size);
    bool has_words = target_query(&call->target, "words", &value);
    if (has_words)
        buffer_add(&upload->words, value.data, value.size);
    if (has_words && (value.size == 0 || ask_count_words(value) > ASK_MOST_WORDS)) {
        serve_error(call, 400, "bad_request", "\"words\" must hold 1 to %d words",
                    ASK_MOST_WORDS);
        return false;
    }
    const char *type = http_header(call, "Content-Type");
    if (type && strncasecmp(type, "text/csv", 8) == 0) {
        upload->file = (struct span){call->body.data, call->body.size};
    } else if (type && strncasecmp(type, "multipart/form-data", 19) == 0) {
        struct span body = {call->body.data, call->body.size};
        if (!multipart_find_file(type, body, &upload->file)) {
            serve_error(call, 400, "bad_multipart",
                        "the body is not multipart/form-data with a file");
            return false;
        }
    } else {
        serve_error(call, 415, "bad_type", "send multipart/form-data or text/csv");
        return false;
    }
    return true;
}

void upload_start(struct serve *serve, struct http_call *call) {
    struct served_model *model = serve_model(serve);
    struct visit *visit = call->context;
    if (!model) {
        serve_busy(call, 503, "loading", "the model is being loaded");
        return;
    }
    struct upload *upload = calloc(1, sizeof *upload);
    if (!upload) {
        served_model_drop(model);
        serve_error(call, 500, "internal", "out of memory");
        return;
    }
    upload->serve = serve;
    upload->call = call;
    upload->model = model;
    pthread_mutex_init(&upload->lock, NULL);
    pthread_cond_init(&upload->changed, NULL);
    atomic_init(&upload->users, 1);
    if (read_options(upload, call)) {
        upload->body = call->body; /* it outlives the call, whose client may leave */
        call->body = (struct buffer){0};
        http_wait(call);
        if (start_thread(upload)) {
            visit->uploads = false;
            return;
        }
        serve_busy(call, 503, "stopping", "the server cannot take uploads now");
    }
    served_model_drop(model);
    drop(upload);
}
