/* SPDX-License-Identifier: MIT
 *
 * kernel_bench.c: the linear layers of a base-shaped BERT on one core, kernel by kernel:
 * operations a second as a share of the peak (multiply-adds in registers), and bytes of
 * weights a second as a share of the read rate of a buffer as large as all the weights
 * that a pass streams. Peaks and layers take turns, and the best of each counts: other
 * load on the machine only slows.
 *
 * usage: kernel_bench [TABLE] [f32|f16|int8] */
#include "bench_peak.h"
#include "kernel/kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Layers ---------------------------------------------------------------------- */

enum { LAYERS = 12, ROWS = 128, WIDEST = 3072 };
static const size_t shapes[][2] = {{768, 2304}, {768, 768}, {768, 3072}, {3072, 768}};
enum { SHAPES = 4 };
static const size_t row_counts[] = {1, 8, 16, 32, 64, 128};
enum { COUNTS = sizeof row_counts / sizeof row_counts[0] };

struct work {
    char
        *weights; /* of all layers, one after the other, so that each pass streams them */
    size_t layer_bytes;
    float *x, *y, *vector;
    int32_t *sum;
    struct quantized q;
};

static size_t element_bytes(enum bert_precision p) {
    return p == BERT_F32 ? 4 : p == BERT_F16 ? 2 : 1;
}

static void *zeros(size_t bytes) {
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!memory)
        exit(5);
    memset(memory, 0, bytes);
    return memory;
}

static void work_init(struct work *w, enum bert_precision p) {
    for (int i = 0; i < SHAPES; i++)
        w->layer_bytes += shapes[i][0] * shapes[i][1] * element_bytes(p);
    w->weights = zeros(w->layer_bytes * LAYERS);
    for (size_t i = 0; i < w->layer_bytes * LAYERS / element_bytes(p); i++)
        if (p == BERT_F32)
            ((float *)w->weights)[i] = (float)(i * 40503 >> 8 & 0xff) / 128 - 1;
        else if (p == BERT_F16)
            ((uint16_t *)w->weights)[i] = (uint16_t)(0x3800 | (i * 40503 >> 8 & 0x83ff));
        else
            w->weights[i] = (char)((int)(i * 40503 >> 8 & 0xff) - 127);
    w->x = zeros(ROWS * (WIDEST + 16) * sizeof(float));
    w->y = zeros(ROWS * (WIDEST + 16) * sizeof(float));
    w->vector = zeros(WIDEST * sizeof(float));
    w->sum = zeros(WIDEST * sizeof(int32_t));
    w->q = (struct quantized){zeros(ROWS * (WIDEST + 64)), 0, w->vector, zeros(4 * ROWS)};
    for (size_t i = 0; i < ROWS * (WIDEST + 16); i++)
        w->x[i] = (float)(i % 7) - 3;
    memset(w->q.data, 3, ROWS * (WIDEST + 64));
}

/* One matrix of one layer; GELU on the up projection, a residual after the others. */
static double run(const struct kernel_table *table, struct work *w, enum bert_precision p,
                  int shape, size_t layer, size_t rows) {
    size_t in = shapes[shape][0], out = shapes[shape][1];
    const char *weight = w->weights + layer * w->layer_bytes;
    for (int i = 0; i < shape; i++)
        weight += shapes[i][0] * shapes[i][1] * element_bytes(p);
    struct linear linear = {p, in, out, weight, w->vector, w->vector, w->sum};
    struct linear_job job = {.linear = &linear,
                             .rows = rows,
                             .x = w->x,
                             .x_stride = in + 16,
                             .q = w->q,
                             .y = w->y,
                             .y_stride = out + 16,
                             .activation = shape == 2 ? ACTIVATION_GELU : ACTIVATION_NONE,
                             .residual = in == 768 && out == 768 ? w->y : NULL,
                             .residual_stride = out + 16};
    job.q.stride = in + 64;
    double start = bench_seconds();
    (p == BERT_INT8  ? table->linear_int8
     : p == BERT_F16 ? table->linear_f16
                     : table->linear_f32)(&job, 0, out);
    return bench_seconds() - start;
}

/* A pass over all weights at the rate of the part that was read fastest: a whole pass
 * without an interruption hardly happens on a busy machine. */
static double read_seconds(const struct work *w) {
    const size_t size = w->layer_bytes * LAYERS, part = (size_t)2 << 20;
    double best = 1e9;
    for (size_t from = 0; from + part <= size; from += part)
        best = fmin(best, bench_read(w->weights + from, part));
    return best * (double)size / (double)part;
}

static void bench(const struct kernel_table *table, enum bert_precision p) {
    double best[SHAPES][COUNTS], peak_best = 0, read_best = 1e9,
                                 budget = bench_seconds() + 18;
    struct work w = {0};
    work_init(&w, p);
    for (int i = 0; i < SHAPES; i++)
        for (int c = 0; c < COUNTS; c++)
            best[i][c] = 1e9;
    for (int round = 0; round < 6 && bench_seconds() < budget; round++) {
        read_best = fmin(read_best, read_seconds(&w));
        for (int c = 0; c < COUNTS; c++)
            for (size_t layer = 0; layer < LAYERS && bench_seconds() < budget; layer++) {
                peak_best = fmax(peak_best,
                                 p == BERT_INT8 ? bench_peak_int8() : bench_peak_f32());
                for (int i = 0; i < SHAPES; i++)
                    best[i][c] =
                        fmin(best[i][c], run(table, &w, p, i, layer, row_counts[c]));
            }
    }
    double rate = (double)w.layer_bytes * LAYERS / read_best;
    printf("%s %s: peak %.0f GOPS, read %.1f GB/s\n", table->name,
           p == BERT_F32   ? "f32"
           : p == BERT_F16 ? "f16"
                           : "int8",
           peak_best / 1e9, rate / 1e9);
    printf("%-12s %5s %10s %8s %6s %8s %6s\n", "in x out", "rows", "us", "GOPS", "peak",
           "GB/s", "read");
    for (int i = 0; i < SHAPES; i++)
        for (int c = 0; c < COUNTS; c++) {
            double cells = (double)(shapes[i][0] * shapes[i][1]), t = best[i][c];
            double operations = 2 * cells * (double)row_counts[c] / t;
            double bytes = cells * (double)element_bytes(p) / t;
            printf("%4zu x %-5zu %5zu %10.1f %8.1f %5.0f%% %8.1f %5.0f%%\n", shapes[i][0],
                   shapes[i][1], row_counts[c], t * 1e6, operations / 1e9,
                   peak_best > 0 ? 100 * operations / peak_best : 0, bytes / 1e9,
                   100 * bytes / rate);
        }
    free(w.weights);
    free(w.x);
    free(w.y);
    free(w.vector);
    free(w.sum);
    free(w.q.data);
    free(w.q.zero);
}

int main(int argc, char **argv) {
    const struct kernel_table *table = kernel_select(argc > 1 ? argv[1] : NULL);
    if (!table) {
        fprintf(stderr, "kernel_bench: no table %s here\n", argv[1]);
        return 2;
    }
    for (int p = BERT_F32; p <= BERT_INT8; p++)
        if (argc < 3 || !strcmp(argv[2], p == BERT_F32   ? "f32"
                                         : p == BERT_F16 ? "f16"
                                                         : "int8"))
            bench(table, p);
    return 0;
}
