/* SPDX-License-Identifier: MIT
 *
 * job.c: the threads of a job and the ring between them. Batches are counted without end:
 * written <= taken <= published, and each lies in ring[number % size]. */
#include "service/job.h"

#include "base/clock.h"
#include "base/cpu.h"
#include "service/answers.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

enum {
    DEFAULT_TOKENS = 2048, /* of a batch */
    LONGEST = 512,         /* tokens that one text can cost */
    BATCH_RECORDS = 256,
    BATCH_BYTES = 1024 * 1024,       /* of records; one longer record is a batch */
    FLYING_BYTES = 16 * 1024 * 1024, /* of records between reader and writer */
    KEPT_BYTES = 1024,               /* a record slot's memory between uses */
    TICK_MS = 200,
    STEPS = 256 /* of the histogram of times, each 1.1 times the last */
};

struct batch {
    struct record *records;
    struct answer **answers; /* a record's, or NULL when it failed before */
    size_t count, bytes, tokens;
    struct bert_text *texts; /* those to be computed */
    struct job_answer **wanted;
    size_t wanted_count;
    bool done, lone; /* lone: closed because nothing more was there */
};

struct job {
    struct job_options options;
    int threads;
    const struct job_ops *ops;
    struct records *records;
    int stop_pipe[2];
    atomic_bool stop; /* begin nothing more */

    pthread_mutex_t mutex;
    pthread_cond_t space, work, finished;
    struct batch *ring;
    size_t ring_size;
    uint64_t published, taken, written;
    size_t flying;
    int busy;
    bool read_all;            /* the reader has ended */
    struct bert_error *error; /* set once, with failed */
    bool failed;

    struct batch *filling; /* the reader's; NULL between batches */
    struct record incoming;
    struct buffer text, before;
    struct answers answers;
    atomic_size_t given;

    struct bert_session *wide; /* uses all threads; guarded by wide_mutex */
    pthread_mutex_t wide_mutex;
    uint64_t unique;
    uint64_t times[STEPS], time_count;
};

static void answer_text(struct buffer *buffer, const char *text) {
    buffer->size = 0;
    buffer_add_text(buffer, text);
    buffer_text(buffer);
}

void job_fail(struct job_answer *answer, const char *why) {
    answer->status = BERT_RECORD;
    answer_text(&answer->error, why);
}

void job_note(struct job_answer *answer, const char *note) {
    answer_text(&answer->note, note);
}

/* ---- Life ------------------------------------------------------------------------ */

static bool batch_init(struct batch *batch) {
    batch->records = calloc(BATCH_RECORDS, sizeof *batch->records);
    batch->answers = calloc(BATCH_RECORDS, sizeof *batch->answers);
    batch->texts = calloc(BATCH_RECORDS, sizeof *batch->texts);
    batch->wanted = calloc(BATCH_RECORDS, sizeof *batch->wanted);
    return batch->records && batch->answers && batch->texts && batch->wanted;
}

static void batch_release(struct job *job, struct batch *batch) {
    for (size_t i = 0; batch->records && i < BATCH_RECORDS; i++)
        record_release(&batch->records[i]);
    for (size_t i = 0; i < batch->count; i++)
        answer_release(batch->answers[i], &job->given);
    free(batch->records);
    free(batch->answers);
    free(batch->texts);
    free(batch->wanted);
}

enum bert_status job_new(struct job **out, const struct job_options *options,
                         struct bert_error *error) {
    struct job *job = calloc(1, sizeof *job);
    if (!job)
        return error_memory(error);
    job->options = *options;
    job->threads = options->threads > 0 ? options->threads : cpu_usable_cores();
    struct bert_info info = {0};
    if (options->model)
        bert_model_info(options->model, &info);
    if (!job->options.batch_tokens)
        job->options.batch_tokens =
            info.batch_tokens ? info.batch_tokens : DEFAULT_TOKENS;
    job->ring_size = 2 * (size_t)job->threads + 2;
    job->ring = calloc(job->ring_size, sizeof *job->ring);
    bool ok = job->ring && answers_init(&job->answers, &job->given);
    for (size_t i = 0; ok && i < job->ring_size; i++)
        ok = batch_init(&job->ring[i]);
    pthread_mutex_init(&job->mutex, NULL);
    pthread_mutex_init(&job->wide_mutex, NULL);
    pthread_cond_init(&job->space, NULL);
    pthread_cond_init(&job->work, NULL);
    pthread_cond_init(&job->finished, NULL);
    bool piped = pipe(job->stop_pipe) == 0;
    if (!piped)
        job->stop_pipe[0] = job->stop_pipe[1] = -1;
    if (!ok || !piped) {
        job_free(job);
        return ok ? error_set(error, BERT_INTERNAL, "no pipe: %s", strerror(errno))
                  : error_memory(error);
    }
    for (int i = 0; i < 2; i++)
        fcntl(job->stop_pipe[i], F_SETFD, FD_CLOEXEC);
    *out = job;
    return BERT_OK;
}

void job_free(struct job *job) {
    if (!job)
        return;
    for (size_t i = 0; job->ring && i < job->ring_size; i++)
        batch_release(job, &job->ring[i]);
    free(job->ring);
    answers_release(&job->answers);
    record_release(&job->incoming);
    buffer_release(&job->text);
    buffer_release(&job->before);
    bert_session_free(job->wide);
    for (int i = 0; i < 2; i++)
        if (job->stop_pipe[i] >= 0)
            close(job->stop_pipe[i]);
    pthread_mutex_destroy(&job->mutex);
    pthread_mutex_destroy(&job->wide_mutex);
    pthread_cond_destroy(&job->space);
    pthread_cond_destroy(&job->work);
    pthread_cond_destroy(&job->finished);
    free(job);
}

void job_stop(struct job *job) {
    int kept = errno;
    if (!atomic_exchange(&job->stop, true) && write(job->stop_pipe[1], "", 1) < 0)
        atomic_store(&job->stop, true); /* a pipe that is full wakes as well */
    errno = kept;
}

/* Called with the mutex held. */
static void wake_all(struct job *job) {
    pthread_cond_broadcast(&job->space);
    pthread_cond_broadcast(&job->work);
    pthread_cond_broadcast(&job->finished);
}

static void job_broke(struct job *job, const struct bert_error *why) {
    pthread_mutex_lock(&job->mutex);
    if (!job->failed) {
        job->failed = true;
        if (job->error)
            *job->error = *why;
    }
    wake_all(job);
    pthread_mutex_unlock(&job->mutex);
    job_stop(job); /* the reader may wait for input */
}

/* ---- Reader ---------------------------------------------------------------------- */

static void publish(struct job *job, bool lone) {
    struct batch *batch = job->filling;
    if (!batch || batch->count == 0)
        return;
    job->filling = NULL;
    pthread_mutex_lock(&job->mutex);
    batch->lone = lone;
    batch->done = batch->wanted_count == 0;
    job->flying += batch->bytes;
    job->published++;
    pthread_cond_signal(&job->work);
    pthread_mutex_unlock(&job->mutex);
}

static void input_waits(void *arg) {
    publish(arg, true);
}

void job_watch(struct job *job, struct source_options *options) {
    options->waiting = input_waits;
    options->waiting_arg = job;
    options->stop_fd = job->stop_pipe[0];
}

/* Takes a free batch; false: the job ends. */
static bool start_batch(struct job *job) {
    pthread_mutex_lock(&job->mutex);
    while (!job->failed && !atomic_load(&job->stop) &&
           (job->published - job->written == job->ring_size ||
            (job->flying > FLYING_BYTES && job->published > job->written)))
        pthread_cond_wait(&job->space, &job->mutex);
    bool go = !job->failed && !atomic_load(&job->stop);
    struct batch *batch = &job->ring[job->published % job->ring_size];
    pthread_mutex_unlock(&job->mutex);
    if (go) {
        batch->count = batch->bytes = batch->tokens = batch->wanted_count = 0;
        batch->done = batch->lone = false;
        job->filling = batch;
    }
    return go;
}

static enum bert_status add_text(struct job *job, struct batch *batch, size_t at,
                                 struct bert_error *error) {
    bool fresh;
    struct answer *answer = answers_get(&job->answers, &job->text, &job->before,
                                        !job->options.keep_equal, &fresh);
    batch->answers[at] = answer;
    if (!answer)
        return error_memory(error);
    if (!fresh)
        return BERT_OK;
    size_t i = batch->wanted_count++;
    batch->texts[i] = (struct bert_text){answer->text.data, answer->text.size,
                                         answer->before.size ? answer->before.data : NULL,
                                         answer->before.size};
    batch->wanted[i] = &answer->given;
    size_t tokens = (answer->text.size + answer->before.size) / 3 + 2; /* Han: 3 bytes */
    batch->tokens += tokens < LONGEST ? tokens : LONGEST;
    return BERT_OK;
}

/* Puts the incoming record into the batch. */
static enum bert_status add_record(struct job *job, struct bert_error *error) {
    struct batch *batch = job->filling;
    size_t at = batch->count;
    struct record free_slot = batch->records[at];
    batch->records[at] = job->incoming;
    job->incoming = free_slot;
    struct record *record = &batch->records[at];
    batch->answers[at] = NULL;
    batch->count++;
    batch->bytes += record->memory.size;
    if (record->status)
        return BERT_OK;
    job->text.size = job->before.size = 0;
    struct bert_error why = {0};
    enum bert_status status =
        job->ops->prepare(job->ops->context, record, &job->text, &job->before, &why);
    if (status == BERT_OK && (job->text.failed || job->before.failed))
        return error_memory(error);
    if (status == BERT_OK)
        return add_text(job, batch, at, error);
    if (status != BERT_RECORD)
        return error_set(error, status, "%s", why.message);
    record->status = BERT_RECORD;
    answer_text(&record->message, why.message);
    record->error = record->message.data;
    return record->error ? BERT_OK : error_memory(error);
}

static bool is_full(const struct job *job) {
    const struct batch *batch = job->filling;
    return batch->tokens >= job->options.batch_tokens || batch->count == BATCH_RECORDS ||
           batch->bytes >= BATCH_BYTES;
}

static enum bert_status read_batches(struct job *job, struct bert_error *error) {
    while (!atomic_load(&job->stop)) {
        bool end;
        enum bert_status status = records_next(job->records, &job->incoming, &end, error);
        if (status || end)
            return status;
        if (!job->filling && !start_batch(job))
            return BERT_OK;
        status = add_record(job, error);
        if (status)
            return status;
        if (is_full(job))
            publish(job, false);
    }
    return BERT_OK;
}

static void *reader(void *arg) {
    struct job *job = arg;
    struct bert_error error = {0};
    if (read_batches(job, &error))
        job_broke(job, &error);
    else
        publish(job, true);
    pthread_mutex_lock(&job->mutex);
    job->read_all = true;
    wake_all(job);
    pthread_mutex_unlock(&job->mutex);
    return NULL;
}

/* ---- Workers --------------------------------------------------------------------- */

static void note_time(struct job *job, double seconds) {
    double step = seconds > 1e-6 ? log(seconds * 1e6) / log(1.1) : 0;
    job->times[step < STEPS - 1 ? (int)step : STEPS - 1]++;
    job->time_count++;
}

static double time_below(const struct job *job, double share) {
    uint64_t seen = 0;
    for (int i = 0; i < STEPS; i++) {
        seen += job->times[i];
        if (job->time_count && (double)seen >= share * (double)job->time_count)
            return pow(1.1, i + 0.5) * 1e-6;
    }
    return 0;
}

static enum bert_status run_texts(struct job *job, struct batch *batch,
                                  struct bert_session **session, int threads,
                                  struct bert_error *error) {
    struct bert_model *model = job->options.model;
    if (model && !*session) {
        enum bert_status status = bert_session_new(session, model, threads, error);
        if (status)
            return status;
    }
    enum bert_status status =
        job->ops->process(job->ops->context, *session, batch->texts, batch->wanted,
                          batch->wanted_count, error);
    for (size_t i = 0; i < batch->wanted_count; i++) {
        const struct job_answer *answer = batch->wanted[i];
        if (answer->out.failed || answer->error.failed || answer->note.failed)
            return error_memory(error);
        atomic_fetch_add(&job->given, answer->out.size);
    }
    return status;
}

/* Waits for a batch; NULL: no more will come. */
static struct batch *take_batch(struct job *job, bool *wide) {
    pthread_mutex_lock(&job->mutex);
    struct batch *batch = NULL;
    for (;;) {
        if (job->failed || atomic_load(&job->stop))
            break;
        if (job->taken < job->published) {
            batch = &job->ring[job->taken++ % job->ring_size];
            if (!batch->done)
                break;
            batch = NULL; /* nothing to compute */
            pthread_cond_signal(&job->finished);
            continue;
        }
        if (job->read_all)
            break;
        pthread_cond_wait(&job->work, &job->mutex);
    }
    if (batch) {
        bool alone = job->busy == 0 && job->taken == job->published;
        *wide = batch->lone && alone && job->threads > 1;
        job->busy++;
    }
    pthread_mutex_unlock(&job->mutex);
    return batch;
}

static void *worker(void *arg) {
    struct job *job = arg;
    struct bert_session *session = NULL;
    struct batch *batch;
    bool wide;
    while ((batch = take_batch(job, &wide))) {
        struct bert_error error = {0};
        enum bert_status status;
        double begun = clock_seconds();
        if (wide) {
            pthread_mutex_lock(&job->wide_mutex);
            status = run_texts(job, batch, &job->wide, job->threads, &error);
            pthread_mutex_unlock(&job->wide_mutex);
        } else {
            status = run_texts(job, batch, &session, 1, &error);
        }
        if (status)
            job_broke(job, &error);
        pthread_mutex_lock(&job->mutex);
        job->busy--;
        batch->done = !status;
        job->unique += status ? 0 : batch->wanted_count;
        note_time(job, clock_seconds() - begun);
        pthread_cond_signal(&job->finished);
        pthread_mutex_unlock(&job->mutex);
    }
    bert_session_free(session);
    return NULL;
}

/* ---- Writer ---------------------------------------------------------------------- */

/* Waits for the next batch in order; NULL: there is none. */
static struct batch *next_done(struct job *job, struct job_report *report) {
    pthread_mutex_lock(&job->mutex);
    struct batch *batch = NULL;
    while (!job->failed) {
        bool some = job->written < job->published;
        batch = some ? &job->ring[job->written % job->ring_size] : NULL;
        report->state.unique = job->unique;
        bool begun =
            job->written < job->taken; /* a slot not taken yet is not free, either */
        if (begun && batch->done)
            break;
        batch = NULL;
        if (atomic_load(&job->stop) && !begun) {
            wake_all(job);
            break;
        }
        if (job->read_all && !some)
            break;
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += TICK_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        if (pthread_cond_timedwait(&job->finished, &job->mutex, &until) == ETIMEDOUT) {
            pthread_mutex_unlock(&job->mutex);
            if (job->options.tick)
                job->options.tick(job->options.arg, &report->state);
            pthread_mutex_lock(&job->mutex);
        }
    }
    if (job->failed)
        batch = NULL;
    pthread_mutex_unlock(&job->mutex);
    return batch;
}

/* False: failed() said stop, before this record. */
static bool write_record(struct job *job, const struct record *record,
                         const struct answer *answer, struct sink *sink,
                         struct job_report *report) {
    const struct job_options *options = &job->options;
    const char *why = record->error;
    struct span out = {"", 0};
    if (answer && answer->given.status)
        why = answer->given.error.data;
    else if (answer)
        out = (struct span){answer->given.out.data, answer->given.out.size};
    if (why && options->failed &&
        !options->failed(options->arg, record->file, record->line, why))
        return false;
    if (answer && answer->given.note.size > 0 && options->note)
        options->note(options->arg, record->file, record->line, answer->given.note.data);
    job->ops->write(job->ops->context, record, out, why, sink);
    report->state.records++;
    report->state.failed += why != NULL;
    return true;
}

static void recycle(struct job *job, struct batch *batch) {
    for (size_t i = 0; i < batch->count; i++) {
        answer_release(batch->answers[i], &job->given);
        batch->answers[i] = NULL;
        if (batch->records[i].memory.capacity > KEPT_BYTES)
            record_release(&batch->records[i]);
    }
    pthread_mutex_lock(&job->mutex);
    job->flying -= batch->bytes;
    batch->count = 0;
    job->written++;
    pthread_cond_signal(&job->space);
    pthread_mutex_unlock(&job->mutex);
}

/* Whether the batch after this one could be written at once. */
static bool another_done(struct job *job) {
    pthread_mutex_lock(&job->mutex);
    bool done =
        job->written < job->taken && job->ring[job->written % job->ring_size].done;
    pthread_mutex_unlock(&job->mutex);
    return done;
}

static enum bert_status write_batch(struct job *job, struct batch *batch,
                                    struct sink *sink, struct job_report *report,
                                    struct bert_error *error) {
    size_t i = 0;
    while (i < batch->count &&
           write_record(job, &batch->records[i], batch->answers[i], sink, report))
        i++;
    bool strict = i < batch->count;
    enum bert_status status = BERT_OK;
    if (i > 0 && job->options.written)
        status = job->options.written(job->options.arg, &report->state,
                                      &batch->records[i - 1], error);
    if (!status && strict)
        status = error_set(error, BERT_RECORD, "stopped at the first failed record");
    recycle(job, batch);
    if (!status && (sink_failed(sink) || !another_done(job)))
        status = sink_flush(sink, error);
    return status;
}

static enum bert_status write_all(struct job *job, struct sink *sink,
                                  struct job_report *report, struct bert_error *error) {
    struct batch *batch;
    enum bert_status status = BERT_OK;
    while (!status && (batch = next_done(job, report)))
        status = write_batch(job, batch, sink, report, error);
    return status;
}

/* Starts the reader and the workers; threads[0] is the reader. Returns how many run. */
static int start_threads(struct job *job, pthread_t *threads, struct bert_error *error) {
    int started = 0;
    sigset_t all, before; /* signals are for the caller's thread */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    for (; started <= job->threads; started++) {
        int failure =
            pthread_create(&threads[started], NULL, started ? worker : reader, job);
        if (failure == 0)
            continue;
        struct bert_error why;
        error_set(&why, BERT_INTERNAL, "no thread: %s", strerror(failure));
        job_broke(job, &why);
        break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

enum bert_status job_run(struct job *job, struct records *records,
                         const struct job_ops *ops, struct sink *sink,
                         struct job_report *report, struct bert_error *error) {
    *report = (struct job_report){0};
    struct bert_error own = {0};
    pthread_t *threads = calloc((size_t)job->threads + 1, sizeof *threads);
    if (!threads)
        return error_memory(error);
    double begun = clock_seconds();
    job->records = records;
    job->ops = ops;
    job->error = &own;
    int started = start_threads(job, threads, error);
    enum bert_status status = write_all(job, sink, report, error);
    bool ended = atomic_load(&job->stop);
    job_stop(job);
    pthread_mutex_lock(&job->mutex);
    wake_all(job);
    pthread_mutex_unlock(&job->mutex);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    job->error = NULL;
    if (job->failed && !status) {
        status = own.status;
        if (error)
            *error = own;
    }
    if (!status)
        status = sink_flush(sink, error);
    report->state.unique = job->unique;
    report->stopped = ended && !job->failed;
    report->seconds = clock_seconds() - begun;
    report->batch_p50 = time_below(job, 0.5);
    report->batch_p95 = time_below(job, 0.95);
    return status;
}
