/* SPDX-License-Identifier: MIT
 *
 * quantize.c: one output at a time, panels shared out to the pool. Rows are handled in
 * blocks of LANES with as many sums, which compilers turn into vector code. */
#include "model/quantize.h"

#include <math.h>

enum { LANES = 8 };

/* x as an integer in a float: adding 1.5 * 2^23 leaves no bits for the fraction. */
static const float round_magic = 12582912.0f;

struct rows { /* a worker's: one row, padded with zeros to LANES */
    float *weight, *column, *importance;
    size_t padded;
};

static size_t padded_width(size_t in) {
    return (in + LANES - 1) / LANES * LANES;
}

static void read_row(const struct stack *stack, size_t output, float *row) {
    int i = 0;
    while (output >= tensor_rows(stack->weights[i]))
        output -= tensor_rows(stack->weights[i++]);
    tensor_row(stack->weights[i], output, row);
}

static float largest(const float *row, size_t padded) {
    float lanes[LANES] = {0}, best = 0;
    for (size_t i = 0; i < padded; i += LANES)
        for (size_t k = 0; k < LANES; k++) {
            float size = fabsf(row[i + k]);
            lanes[k] = size > lanes[k] ? size : lanes[k];
        }
    for (size_t k = 0; k < LANES; k++)
        best = lanes[k] > best ? lanes[k] : best;
    return best;
}

static float scale_error(const struct rows *rows, float scale) {
    float lanes[LANES] = {0}, sum = 0, inverse = 1 / scale;
    for (size_t i = 0; i < rows->padded; i += LANES)
        for (size_t k = 0; k < LANES; k++) {
            float weight = rows->weight[i + k];
            float q = (weight * inverse + round_magic) - round_magic;
            q = q > 127 ? 127 : q;
            q = q < -127 ? -127 : q;
            float miss = weight - q * scale;
            lanes[k] += miss * miss * rows->importance[i + k];
        }
    for (size_t k = 0; k < LANES; k++)
        sum += lanes[k];
    return sum;
}

/* Cutting off a lone large weight can pay: all others get finer steps. */
static float best_scale(const struct rows *rows, float most) {
    static const float cuts[] = {1.0f, 0.94f, 0.88f, 0.82f, 0.76f, 0.7f, 0.6f, 0.5f};
    float best = most / 127, least = INFINITY;
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        float scale = most / 127 * cuts[i], miss = scale_error(rows, scale);
        if (miss > least)
            break; /* the error has one valley */
        least = miss;
        best = scale;
    }
    return best;
}

struct quantization {
    const struct stack *stack;
    const struct rewrite *rewrite;
    const struct panels *panels;
    struct rows *rows; /* of each worker */
    bool *broken;      /* of each worker: met a weight that is not finite */
};

static double folded_bias(const struct quantization *job, size_t output,
                          const float *row) {
    double bias = (double)job->stack->bias[output];
    if (job->rewrite->shift)
        for (size_t j = 0; j < job->stack->in; j++)
            bias += (double)row[j] * (double)job->rewrite->shift[j];
    return bias;
}

static void quantize_output(const struct quantization *job, size_t output, int worker) {
    const struct rows *rows = &job->rows[worker];
    size_t in = job->stack->in, groups = (in + GROUP - 1) / GROUP;
    read_row(job->stack, output, rows->weight);
    job->panels->bias[output] = (float)folded_bias(job, output, rows->weight);
    for (size_t j = 0; j < in; j++)
        rows->weight[j] *= rows->column[j];
    float most = largest(rows->weight, rows->padded);
    for (size_t j = 0; j < in; j++)
        job->broken[worker] |= !isfinite(rows->weight[j]);
    job->broken[worker] |= !isfinite(job->panels->bias[output]);
    if (job->broken[worker] || !(most / 127 > 0x1p-120f))
        return; /* all zero, or as good as that: the panel holds zeros */
    float scale = best_scale(rows, most), inverse = 1 / scale;
    int8_t *at = job->panels->weight + output / PANEL * groups * PANEL * GROUP +
                 output % PANEL * GROUP;
    int32_t sum = 0;
    for (size_t j = 0; j < in; j++) {
        float q = (rows->weight[j] * inverse + round_magic) - round_magic;
        q = q > 127 ? 127 : q < -127 ? -127 : q;
        at[j / GROUP * PANEL * GROUP + j % GROUP] = (int8_t)q;
        sum += (int32_t)q;
    }
    job->panels->scale[output] = scale;
    job->panels->sum[output] = sum;
}

static void quantize_panels(void *arg, size_t begin, size_t end, int worker) {
    const struct quantization *job = arg;
    size_t last = end * PANEL < job->stack->out ? end * PANEL : job->stack->out;
    for (size_t output = begin * PANEL; output < last; output++)
        quantize_output(job, output, worker);
}

static void fill_rows(struct rows *rows, const struct rewrite *rewrite, size_t in,
                      float *memory) {
    rows->padded = padded_width(in);
    rows->weight = memory;
    rows->column = memory + rows->padded;
    rows->importance = memory + 2 * rows->padded;
    for (size_t j = 0; j < in; j++) {
        float spread = rewrite->spread ? rewrite->spread[j] : 1;
        rows->column[j] = rewrite->column ? rewrite->column[j] : 1;
        rows->importance[j] = spread * spread;
    }
}

enum bert_status quantize_linear(const struct stack *stack, const struct rewrite *rewrite,
                                 struct pool *pool, struct panels *panels,
                                 struct bert_error *error) {
    size_t out = panel_outputs(stack->out), threads = (size_t)pool_threads(pool);
    memset(panels->weight, 0, panel_bytes(stack->in, stack->out));
    memset(panels->scale, 0, out * sizeof *panels->scale);
    memset(panels->sum, 0, out * sizeof *panels->sum);
    memset(panels->bias, 0, out * sizeof *panels->bias);
    size_t each = 3 * padded_width(stack->in);
    float *memory = calloc(threads * each, sizeof *memory);
    struct rows *rows = calloc(threads, sizeof *rows);
    bool *broken = calloc(threads, sizeof *broken);
    enum bert_status status = BERT_OK;
    if (memory && rows && broken) {
        for (size_t i = 0; i < threads; i++)
            fill_rows(&rows[i], rewrite, stack->in, memory + i * each);
        struct quantization job = {stack, rewrite, panels, rows, broken};
        pool_run(pool, out / PANEL, 1, quantize_panels, &job);
        for (size_t i = 0; i < threads && status == BERT_OK; i++)
            if (broken[i])
                status = error_set(error, BERT_MODEL,
                                   "%s or its bias holds a value that is not finite",
                                   stack->weights[0]->name);
    } else {
        status = error_memory(error);
    }
    free(memory);
    free(rows);
    free(broken);
    return status;
}

enum bert_status quantize_columns(const struct stack *stack, float *squares,
                                  struct bert_error *error) {
    float *row = malloc(stack->in * sizeof *row);
    if (!row)
        return error_memory(error);
    memset(squares, 0, stack->in * sizeof *squares);
    for (size_t output = 0; output < stack->out; output++) {
        read_row(stack, output, row);
        for (size_t j = 0; j < stack->in; j++)
            squares[j] += row[j] * row[j] / (float)stack->out;
    }
    free(row);
    return BERT_OK;
}

enum bert_status quantize_rows(const struct stack *stack, size_t from,
                               const float *column, float *squares,
                               struct bert_error *error) {
    float *row = malloc(stack->in * sizeof *row);
    if (!row)
        return error_memory(error);
    for (size_t output = from; output < stack->out; output++) {
        read_row(stack, output, row);
        float sum = 0;
        for (size_t j = 0; j < stack->in; j++)
            sum += row[j] * column[j] * (row[j] * column[j]);
        squares[output - from] = sum;
    }
    free(row);
    return BERT_OK;
}
