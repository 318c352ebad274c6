/* SPDX-License-Identifier: MIT
 *
 * bench_nn.c: runs forward passes of a model on demand, so that a driver can interleave
 * them with other runtimes. Reads one command a line, answers one line of seconds (or of
 * operations or bytes a second):
 *
 *     latency PRECISION THREADS TOKENS SEED   one text with one mask
 *     bulk PRECISION THREADS TOKENS ROWS      ROWS such texts, a worker a thread
 *     linear PRECISION THREADS TOKENS         the linear layers of the encoder alone
 *     weights PRECISION                       bytes of the encoder's linear layers
 *     peak f32|int8 THREADS                   operations a second
 *     read BYTES THREADS                      bytes a second
 *     kernel                                  name of the table
 *
 * PRECISION is f32, f16 or int8, each read from a model of its own, as users would have
 * it. Usage: bench_nn F32 F16 INT8 [TABLE] */
#include "bench_peak.h"

#include "model/loader.h"
#include "nn/backend.h"
#include "nn/pass.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 64, MOST_TOKENS = 512, BULK_REQUESTS = 2048 };

struct open_model { /* one a precision, opened when first asked for */
    struct model_file *file;
    const struct weights *weights;
    void *handle;
    void *alone[THREADS + 1]; /* workers for latency, by their threads */
    void *bulk[THREADS];      /* single workers side by side */
};

static const char *paths[4], *table_name;
static struct open_model models[4];

_Noreturn static void fail(const char *what) {
    fprintf(stderr, "bench_nn: %s\n", what);
    exit(1);
}

static void *checked(void *memory) {
    if (memory == NULL)
        fail("out of memory");
    return memory;
}

static struct open_model *model_for(const char *name) {
    static const char *const names[] = {"", "f32", "f16", "int8"};
    for (int i = 1; i < 4; i++) {
        struct open_model *m = &models[i];
        if (strcmp(name, names[i]) != 0)
            continue;
        if (m->file != NULL)
            return m;
        struct bert_error error;
        struct loader_options options = {.precision = (enum bert_precision)i};
        struct backend_options backend = {.cpu = table_name};
        const char *device;
        if (loader_open(&m->file, paths[i], &options, &error) != BERT_OK)
            fail(error.message);
        m->weights = loader_weights(m->file);
        if (backend_cpu.open(&m->handle, m->weights, &backend, &device, &error) !=
            BERT_OK)
            fail(error.message);
        return m;
    }
    fail("unknown precision");
}

static void *worker_of(struct open_model *m, void **place, int threads) {
    struct bert_error error;
    if (*place == NULL &&
        backend_cpu.worker_new(place, m->handle, threads, &error) != BERT_OK)
        fail(error.message);
    return *place;
}

/* A text of random characters with a mask in its middle. */
static void make_text(int32_t *ids, size_t tokens, uint32_t seed) {
    for (size_t i = 0; i < tokens; i++) {
        seed = seed * 1664525u + 1013904223u;
        ids[i] = 1000 + (int32_t)(seed >> 8) % 19000;
    }
    ids[0] = 101;
    ids[tokens - 1] = 102;
    ids[tokens / 2] = 103;
}

static double latency(const char *precision, int threads, size_t tokens, uint32_t seed) {
    struct open_model *m = model_for(precision);
    void *worker = worker_of(m, &m->alone[threads], threads);
    int32_t ids[MOST_TOKENS];
    struct scored best[5];
    struct bert_error error;
    make_text(ids, tokens, seed);
    struct batch batch = {1, tokens, ids, (const size_t[]){0, tokens}};
    struct request request = {.row = tokens / 2, .k = 5};
    struct reply reply = {.best = best};
    double begin = bench_seconds();
    if (backend_cpu.forward(worker, &batch, &request, 1, &reply, &error) != BERT_OK)
        fail(error.message);
    return bench_seconds() - begin;
}

/* ---- Bulk ------------------------------------------------------------------------- */

struct bulk {
    void *worker;
    size_t tokens, rows, texts_a_batch;
    _Atomic size_t *next;
};

static void bulk_batch(struct bulk *b, size_t first, size_t texts) {
    static _Thread_local int32_t ids[BULK_REQUESTS * 16];
    static _Thread_local size_t start[BULK_REQUESTS + 1];
    static _Thread_local struct request requests[BULK_REQUESTS];
    static _Thread_local struct reply replies[BULK_REQUESTS];
    static _Thread_local struct scored best[BULK_REQUESTS][5];
    for (size_t i = 0; i < texts; i++) {
        start[i] = i * b->tokens;
        make_text(ids + start[i], b->tokens, (uint32_t)(first + i));
        requests[i] = (struct request){.row = start[i] + b->tokens / 2, .k = 5};
        replies[i] = (struct reply){.best = best[i]};
    }
    start[texts] = texts * b->tokens;
    struct batch batch = {texts, start[texts], ids, start};
    struct bert_error error;
    if (backend_cpu.forward(b->worker, &batch, requests, texts, replies, &error) !=
        BERT_OK)
        fail(error.message);
}

static void *bulk_main(void *arg) {
    struct bulk *b = arg;
    size_t first;
    while ((first = atomic_fetch_add(b->next, b->texts_a_batch)) < b->rows)
        bulk_batch(b, first,
                   b->rows - first < b->texts_a_batch ? b->rows - first
                                                      : b->texts_a_batch);
    return NULL;
}

static double bulk(const char *precision, int threads, size_t tokens, size_t rows) {
    struct open_model *m = model_for(precision);
    struct bulk b[THREADS];
    pthread_t handles[THREADS];
    _Atomic size_t next = 0;
    for (int i = 0; i < threads; i++) {
        void *worker = worker_of(m, &m->bulk[i], 1);
        size_t good, most_rows, most_requests;
        backend_cpu.limits(worker, &good, &most_rows, &most_requests);
        good = good < BULK_REQUESTS * 16 ? good : BULK_REQUESTS * 16;
        b[i] =
            (struct bulk){worker, tokens, rows, good < tokens ? 1 : good / tokens, &next};
        if (b[i].texts_a_batch > BULK_REQUESTS)
            b[i].texts_a_batch = BULK_REQUESTS;
    }
    double begin = bench_seconds();
    for (int i = 1; i < threads; i++)
        if (pthread_create(&handles[i], NULL, bulk_main, &b[i]) != 0)
            fail("no thread");
    bulk_main(&b[0]);
    for (int i = 1; i < threads; i++)
        pthread_join(handles[i], NULL);
    return bench_seconds() - begin;
}

/* ---- Linear layers alone ------------------------------------------------------------
 */

static void one_linear(struct pass *pass, const struct linear *linear, size_t rows) {
    struct workspace *w = &pass->workspace;
    bool broad = linear->in != (size_t)pass->weights->config.hidden;
    struct linear_job job = {.linear = linear,
                             .rows = rows,
                             .x = broad ? w->up : w->hidden,
                             .x_stride = broad ? w->up_stride : w->hidden_stride,
                             .q = broad ? w->broad : w->narrow};
    bool wide = linear->out > (size_t)pass->weights->config.hidden;
    job.y = wide ? w->up : w->context;
    job.y_stride = wide ? w->up_stride : w->hidden_stride;
    pass_linear(pass, &job, 0, linear->out);
}

static double linear(const char *precision, int threads, size_t tokens) {
    struct open_model *m = model_for(precision);
    struct pass pass = {.table = kernel_select(table_name), .weights = m->weights};
    struct bert_error error;
    if (workspace_init(&pass.workspace, m->weights, MOST_TOKENS, MOST_TOKENS, &error) !=
            BERT_OK ||
        (threads > 1 && pool_new(&pass.pool, threads, &error) != BERT_OK))
        fail(error.message);
    struct workspace *w = &pass.workspace;
    for (size_t i = 0; i < tokens * w->hidden_stride; i++)
        w->hidden[i] = (float)(i % 17) * 0.1f - 0.8f;
    for (size_t i = 0; i < tokens * w->up_stride; i++)
        w->up[i] = (float)(i % 13) * 0.1f - 0.6f;
    if (w->broad.data != NULL) {
        memset(w->broad.data, 100, tokens * w->broad.stride);
        for (size_t i = 0; i < tokens; i++)
            w->broad.scale[i] = 0.01f, w->broad.zero[i] = 100;
    }
    double seconds = 0;
    for (int turn = 0; turn < 2; turn++) { /* the first only warms up */
        double begin = bench_seconds();
        for (int i = 0; i < m->weights->config.layers; i++) {
            const struct layer *layer = &m->weights->layers[i];
            one_linear(&pass, &layer->query_key_value, tokens);
            one_linear(&pass, &layer->attention_output, tokens);
            one_linear(&pass, &layer->up, tokens);
            one_linear(&pass, &layer->down, tokens);
        }
        seconds = bench_seconds() - begin;
    }
    pool_free(pass.pool);
    workspace_release(w);
    return seconds;
}

static double weight_bytes(const char *precision) {
    static const double bytes[] = {[BERT_F32] = 4, [BERT_F16] = 2, [BERT_INT8] = 1};
    const struct weights *weights = model_for(precision)->weights;
    const struct model_config *c = &weights->config;
    double each = 4.0 * c->hidden * c->hidden + 2.0 * c->hidden * c->intermediate;
    return each * c->layers * bytes[weights->layers[0].up.precision];
}

/* ---- The machine --------------------------------------------------------------------
 */

struct probe {
    double (*peak)(void);
    const char *bytes;
    size_t size;
    double rate;
};

static void *probe_main(void *arg) {
    struct probe *p = arg;
    p->rate = p->peak ? p->peak() : (double)p->size / bench_read(p->bytes, p->size);
    return NULL;
}

/* The sum over threads that run at once. */
static double probe(struct probe shape, int threads) {
    struct probe p[THREADS];
    pthread_t handles[THREADS];
    double sum = 0;
    for (int i = 0; i < threads; i++) {
        p[i] = shape;
        if (shape.bytes != NULL)
            p[i].size = shape.size / (size_t)threads / 256 * 256;
        p[i].bytes = shape.bytes + (size_t)i * p[i].size;
        if (i > 0 && pthread_create(&handles[i], NULL, probe_main, &p[i]) != 0)
            fail("no thread");
    }
    probe_main(&p[0]);
    for (int i = 1; i < threads; i++)
        pthread_join(handles[i], NULL);
    for (int i = 0; i < threads; i++)
        sum += p[i].rate;
    return sum;
}

static double read_rate(size_t size, int threads) {
    static char *buffer;
    static size_t allocated;
    if (size > allocated) {
        free(buffer);
        buffer = checked(aligned_alloc(4096, (size + 4095) / 4096 * 4096));
        memset(buffer, 1, size);
        allocated = size;
    }
    return probe((struct probe){.bytes = buffer, .size = size}, threads);
}

/* ---- Commands -----------------------------------------------------------------------
 */

static double obey(const char *line) {
    char command[20], word[20];
    unsigned long a = 0, b = 0, c = 0;
    int fields = sscanf(line, "%19s %19s %lu %lu %lu", command, word, &a, &b, &c);
    if (fields == 2 && strcmp(command, "weights") == 0)
        return weight_bytes(word);
    if (fields < 3 || a < 1 || a > THREADS)
        fail("a bad command");
    if (strcmp(command, "peak") == 0)
        return probe((struct probe){.peak = strcmp(word, "f32") == 0 ? bench_peak_f32
                                                                     : bench_peak_int8},
                     (int)a);
    if (strcmp(command, "read") == 0)
        return read_rate(strtoul(word, NULL, 10), (int)a);
    if (fields < 4 || b < 3 || b > MOST_TOKENS)
        fail("a bad command");
    if (strcmp(command, "linear") == 0)
        return linear(word, (int)a, b);
    if (strcmp(command, "latency") == 0 && fields == 5)
        return latency(word, (int)a, b, (uint32_t)c);
    if (strcmp(command, "bulk") == 0 && fields == 5)
        return bulk(word, (int)a, b, c);
    fail("a bad command");
}

int main(int argc, char **argv) {
    if (argc < 4 || argc > 5)
        fail("usage: bench_nn F32 F16 INT8 [TABLE]");
    for (int i = BERT_F32; i <= BERT_INT8; i++)
        paths[i] = argv[i];
    table_name = argc > 4 ? argv[4] : NULL;
    if (kernel_select(table_name) == NULL)
        fail("no such kernels on this machine");
    char line[200];
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (strncmp(line, "kernel", 6) == 0)
            printf("%s\n", kernel_select(table_name)->name);
        else
            printf("%.9g\n", obey(line));
        fflush(stdout);
    }
    return 0;
}
