/* SPDX-License-Identifier: MIT
 *
 * pass.c: cuts each operation for the pool. Pieces are small enough that a worker that
 * was held up costs little, and large enough that taking one costs nothing. */
#include "nn/pass.h"

enum { ROW_PIECES = 4 /* a worker */, LINEAR_PIECES = 12 /* a worker */ };

struct phase {
    const struct kernel_table *table;
    const void *job;
    size_t offset;
};

/* Items a piece, a multiple of unit, for about so many pieces a worker. */
static size_t grain_for(const struct pass *pass, size_t count, size_t pieces,
                        size_t unit) {
    size_t grain = count / ((size_t)pool_threads(pass->pool) * pieces);
    return grain < unit ? unit : grain / unit * unit;
}

static void linear_task(void *arg, size_t begin, size_t end, int worker) {
    const struct phase *phase = arg;
    const struct linear_job *job = phase->job;
    begin += phase->offset;
    end += phase->offset;
    switch (job->linear->precision) {
    case BERT_INT8:
        phase->table->linear_int8(job, begin, end);
        break;
    case BERT_F16:
        phase->table->linear_f16(job, begin, end);
        break;
    default:
        phase->table->linear_f32(job, begin, end);
    }
}

void pass_linear(struct pass *pass, const struct linear_job *job, size_t begin,
                 size_t end) {
    struct phase phase = {pass->table, job, begin};
    size_t grain = grain_for(pass, end - begin, LINEAR_PIECES, KERNEL_LINEAR_GRAIN);
    if (job->rows > 0)
        pool_run(pass->pool, end - begin, grain, linear_task, &phase);
}

static void run(struct pass *pass, size_t count, pool_task *task, const void *job) {
    struct phase phase = {pass->table, job, 0};
    pool_run(pass->pool, count, grain_for(pass, count, ROW_PIECES, 1), task, &phase);
}

static void norm_task(void *arg, size_t begin, size_t end, int worker) {
    const struct phase *phase = arg;
    phase->table->layer_norm(phase->job, begin, end);
}

void pass_norm(struct pass *pass, const struct norm_job *job) {
    run(pass, job->rows, norm_task, job);
}

static void quantize_task(void *arg, size_t begin, size_t end, int worker) {
    const struct phase *phase = arg;
    phase->table->quantize(phase->job, begin, end);
}

void pass_quantize(struct pass *pass, const struct quantize_job *job) {
    run(pass, job->rows, quantize_task, job);
}

static void embed_task(void *arg, size_t begin, size_t end, int worker) {
    const struct phase *phase = arg;
    phase->table->embed(phase->job, begin, end);
}

void pass_embed(struct pass *pass, const struct embed_job *job) {
    run(pass, job->rows, embed_task, job);
}

static void attention_task(void *arg, size_t begin, size_t end, int worker) {
    const struct phase *phase = arg;
    phase->table->attention(phase->job, begin, end);
}

void pass_attention(struct pass *pass, const struct attention_job *job) {
    run(pass, job->sequences * job->heads, attention_task, job);
}
