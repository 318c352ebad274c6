/* SPDX-License-Identifier: MIT
 *
 * blis.c: float layers by BLIS, all else by the reference: the engine of machines that no
 * own table fits, and the cross-check of the tables. Its bits are its own, but here too a
 * row alone answers as it does among others.
 *
 * The library is loaded when this table is first wanted: linked, it would cost each
 * one-shot process the start of an OpenMP runtime that no other table needs. */
#include "base/bytes.h"
#include "base/cpu.h"
#include "kernel/tables.h"

#include <blis.h> /* with its own cblas.h */
#include <dlfcn.h>
#include <pthread.h>

#ifndef BLIS_ENABLE_CBLAS
#error "this BLIS was built without cblas"
#endif

enum {
    MOST_ROWS = 128, /* more, and BLIS takes another kernel with other bits */
    MOST_OUTPUTS = 128,
    MOST_INPUTS = 8192, /* longer rows go to the reference: the scratch is on the stack */
    MOST_WEIGHTS = 3 * MOST_INPUTS
};

static struct {
    bool loaded;
    __typeof__(cblas_sgemm) *sgemm;
    const char *family;
} blis;
static pthread_once_t blis_once = PTHREAD_ONCE_INIT;

/* BLIS 0.9 knows new processors only as generic ones, and takes a kernel family by number
 * alone; its numbers differ between versions, so the name is looked up. */
static void choose_family(void *library) {
    const struct cpu_features *cpu = cpu_features();
    const char *wanted = cpu->avx512 ? "skx" : cpu->avx2 ? "haswell" : NULL;
    __typeof__(bli_arch_string) *name;
    *(void **)&name = dlsym(library, "bli_arch_string");
    if (!wanted || !name || getenv("BLIS_ARCH_TYPE"))
        return;
    for (int id = 0; id < BLIS_NUM_ARCHS; id++)
        if (!strcmp(name((arch_t)id), wanted)) {
            char number[16];
            snprintf(number, sizeof number, "%d", id);
            setenv("BLIS_ARCH_TYPE", number, 0);
            return;
        }
}

static void load(void) {
    void *library = dlopen("libblis.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
    choose_family(library);
    __typeof__(bli_thread_set_num_threads) *set_threads;
    *(void **)&set_threads = dlsym(library, "bli_thread_set_num_threads");
    *(void **)&blis.sgemm = dlsym(library, "cblas_sgemm");
    if (set_threads)
        set_threads(1); /* the threads are ours */
    __typeof__(bli_arch_query_id) *chosen;
    __typeof__(bli_arch_string) *name;
    *(void **)&chosen = dlsym(library, "bli_arch_query_id");
    *(void **)&name = dlsym(library, "bli_arch_string");
    blis.family = chosen && name ? name(chosen()) : "unknown";
    blis.loaded = blis.sgemm != NULL;
}

bool blis_available(void) {
    pthread_once(&blis_once, load);
    return blis.loaded;
}

const char *blis_family(void) {
    return blis_available() ? blis.family : "not installed";
}

/* BLIS sends a single row or column to a matrix-vector kernel with other bits, so it goes
 * twice. */
struct scratch {
    float dots[MOST_ROWS][MOST_OUTPUTS];
    float row[2 * MOST_INPUTS], weights[MOST_WEIGHTS];
};

static const float *weights_of(const struct linear *l, size_t o, size_t n,
                               struct scratch *scratch) {
    const size_t first = o * l->in;
    if (l->precision == BERT_F32 && n > 1)
        return (const float *)l->weight + first;
    for (size_t i = 0; i < n * l->in; i++)
        scratch->weights[i] =
            l->precision == BERT_F32
                ? ((const float *)l->weight)[first + i]
                : half_to_float(((const uint16_t *)l->weight)[first + i]);
    if (n == 1)
        memcpy(scratch->weights + l->in, scratch->weights, l->in * sizeof(float));
    return scratch->weights;
}

static const float *rows_of(const struct linear_job *job, size_t r, size_t rows,
                            struct scratch *scratch) {
    const float *x = job->x + r * job->x_stride;
    if (rows > 1)
        return x;
    memcpy(scratch->row, x, job->linear->in * sizeof(float));
    memcpy(scratch->row + job->linear->in, x, job->linear->in * sizeof(float));
    return scratch->row;
}

/* Outputs o .. o + n of rows r .. r + rows. */
static void multiply(const struct linear_job *job, size_t r, size_t rows, size_t o,
                     size_t n, const float *w, struct scratch *scratch) {
    const f77_int in = (f77_int)job->linear->in;
    const f77_int x_stride = rows > 1 ? (f77_int)job->x_stride : in;
    blis.sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows > 1 ? (f77_int)rows : 2,
               n > 1 ? (f77_int)n : 2, in, 1, rows_of(job, r, rows, scratch), x_stride, w,
               in, 0, scratch->dots[0], MOST_OUTPUTS);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < n; j++) {
            float *y = job->y + (r + i) * job->y_stride + o + j;
            float value = reference_activate(
                scratch->dots[i][j] + job->linear->bias[o + j], job->activation);
            if (job->residual)
                value += job->residual[(r + i) * job->residual_stride + o + j];
            *y = value;
        }
}

static void linear(const struct linear_job *job, size_t begin, size_t end) {
    const struct linear *l = job->linear;
    struct scratch scratch;
    size_t most = l->precision == BERT_F32 ? MOST_OUTPUTS : MOST_WEIGHTS / l->in;
    most = most < MOST_OUTPUTS ? most : MOST_OUTPUTS;
    for (size_t o = begin, n; o < end; o += n) {
        n = end - o < most ? end - o : most;
        const float *w = weights_of(l, o, n, &scratch);
        for (size_t r = 0, rows; r < job->rows; r += rows) {
            rows = job->rows - r < MOST_ROWS ? job->rows - r : MOST_ROWS;
            multiply(job, r, rows, o, n, w, &scratch);
        }
    }
}

void blis_linear_f32(const struct linear_job *job, size_t begin, size_t end) {
    if (job->linear->in > MOST_INPUTS)
        reference_linear_f32(job, begin, end);
    else
        linear(job, begin, end);
}

void blis_linear_f16(const struct linear_job *job, size_t begin, size_t end) {
    if (job->linear->in > MOST_INPUTS)
        reference_linear_f16(job, begin, end);
    else
        linear(job, begin, end);
}

const struct kernel_table kernel_blis = {
    .name = "blis",
    .linear_f32 = blis_linear_f32,
    .linear_f16 = blis_linear_f16,
    .linear_int8 = reference_linear_int8,
    .layer_norm = reference_layer_norm,
    .quantize = reference_quantize,
    .embed = reference_embed,
    .attention = reference_attention,
    .maximum = reference_maximum,
    .exp_sum = reference_exp_sum,
};
