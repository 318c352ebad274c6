/* SPDX-License-Identifier: MIT
 *
 * test_quantize.c: int8 weights stand for the float ones: each linear layer of the tiny
 * model gives nearly the same outputs by both, for the same input. */
#include "model/loader.h"
#include "model/quantize.h"

#include <check.h>
#include <math.h>

#define TINY "tests/golden/tiny/"
enum { WIDEST = 96 };

static struct model_file *load(enum bert_precision precision) {
    struct loader_options options = {.precision = precision};
    struct bert_error error = {0};
    struct model_file *file;
    enum bert_status status = loader_open(&file, TINY "f32", &options, &error);
    ck_assert_msg(status == BERT_OK, "%s", error.message);
    return file;
}

static double float_output(const struct linear *linear, size_t output, const double *x) {
    const float *row = (const float *)linear->weight + output * linear->in;
    double sum = (double)linear->bias[output];
    for (size_t k = 0; k < linear->in; k++)
        sum += (double)row[k] * x[k];
    return sum;
}

static int quantum(const struct linear *linear, size_t output, size_t k) {
    size_t groups = (linear->in + GROUP - 1) / GROUP;
    const int8_t *panels = linear->weight;
    return panels[((output / PANEL * groups + k / GROUP) * PANEL + output % PANEL) *
                      GROUP +
                  k % GROUP];
}

static double int8_output(const struct linear *linear, size_t output, const double *z) {
    double sum = 0;
    int total = 0;
    for (size_t k = 0; k < linear->in; k++) {
        sum += quantum(linear, output, k) * z[k];
        total += quantum(linear, output, k);
    }
    ck_assert_int_eq(total, linear->sum[output]);
    return (double)linear->scale[output] * sum + (double)linear->bias[output];
}

/* Inputs of about unit size, the same on each run. */
static void make_input(double *x, size_t n) {
    uint32_t state = 12345;
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (double)(state >> 8) / (1 << 23) - 1;
    }
}

/* The outputs are of size 1 to 4; rounding weights to 1/127 of a row's largest leaves
 * less than this. */
static void near(double want, double got) {
    ck_assert_msg(fabs(want - got) < 0.05, "%g is not near %g", got, want);
}

/* x = γ∘n + β for the floats, z = quant∘n for int8. */
static void compare_behind_norm(const struct norm *norm, const struct norm *int8_norm,
                                const struct linear *plain, const struct linear *int8,
                                size_t outputs) {
    double n[WIDEST], x[WIDEST], z[WIDEST];
    make_input(n, plain->in);
    for (size_t j = 0; j < plain->in; j++) {
        x[j] = n[j] * (double)norm->gamma[j] + (double)norm->beta[j];
        z[j] = n[j] * (double)int8_norm->quant[j];
    }
    ck_assert_int_eq(int8->precision, BERT_INT8);
    ck_assert_uint_eq(int8->out, plain->out);
    for (size_t output = 0; output < outputs; output++)
        near(float_output(plain, output, x), int8_output(int8, output, z));
}

START_TEST(layers_behind_norms) {
    struct model_file *file = load(BERT_F32), *quantised = load(BERT_INT8);
    const struct weights *a = loader_weights(file), *b = loader_weights(quantised);
    ck_assert_int_eq(b->precision, BERT_INT8);
    for (int i = 0; i < a->config.layers; i++) {
        const struct layer *x = &a->layers[i], *y = &b->layers[i];
        const struct norm *before =
            i ? &a->layers[i - 1].output_norm : &a->embedding_norm;
        const struct norm *quant = i ? &b->layers[i - 1].output_norm : &b->embedding_norm;
        /* Queries and keys; values are rescaled, and tested with the output. */
        compare_behind_norm(before, quant, &x->query_key_value, &y->query_key_value, 64);
        compare_behind_norm(&x->attention_norm, &y->attention_norm, &x->up, &y->up, 96);
    }
    loader_close(file);
    loader_close(quantised);
}
END_TEST

START_TEST(values_and_output_together) {
    struct model_file *file = load(BERT_F32), *quantised = load(BERT_INT8);
    const struct weights *a = loader_weights(file), *b = loader_weights(quantised);
    double n[WIDEST], x[WIDEST], z[WIDEST], plain[WIDEST], int8[WIDEST];
    make_input(n, 32);
    for (int i = 0; i < a->config.layers; i++) {
        const struct layer *f = &a->layers[i], *q = &b->layers[i];
        const struct norm *norm = i ? &a->layers[i - 1].output_norm : &a->embedding_norm;
        const struct norm *quant = i ? &b->layers[i - 1].output_norm : &b->embedding_norm;
        for (size_t j = 0; j < 32; j++) {
            x[j] = n[j] * (double)norm->gamma[j] + (double)norm->beta[j];
            z[j] = n[j] * (double)quant->quant[j];
        }
        for (size_t j = 0; j < 32; j++) { /* a row that attends to itself alone */
            plain[j] = float_output(&f->query_key_value, 64 + j, x);
            int8[j] = int8_output(&q->query_key_value, 64 + j, z);
        }
        for (size_t j = 0; j < 32; j++)
            near(float_output(&f->attention_output, j, plain),
                 int8_output(&q->attention_output, j, int8));
    }
    loader_close(file);
    loader_close(quantised);
}
END_TEST

START_TEST(down_and_head) {
    struct model_file *file = load(BERT_F32), *quantised = load(BERT_INT8);
    const struct weights *a = loader_weights(file), *b = loader_weights(quantised);
    double x[WIDEST];
    make_input(x, 96);
    for (int i = 0; i < a->config.layers; i++)
        for (size_t j = 0; j < 32; j++)
            near(float_output(&a->layers[i].down, j, x),
                 int8_output(&b->layers[i].down, j, x));
    ck_assert_int_eq(b->transform.precision, BERT_F16);
    ck_assert_ptr_null(b->transform_norm.quant);
    ck_assert_ptr_eq(b->decoder.weight, b->word.data);
    const float *words = a->word.data;
    const uint16_t *halves = b->word.data;
    for (size_t i = 0; i < a->word.rows * a->word.width; i++)
        ck_assert_uint_eq(halves[i], float_to_half(words[i]));
    loader_close(file);
    loader_close(quantised);
}
END_TEST

/* One tensor (out, in) of floats, quantised. */
static void quantise(const float *weights, const float *bias, size_t out, size_t in,
                     struct panels *panels, enum bert_status want) {
    struct tensor tensor = {.name = "w",
                            .element = ELEMENT_F32,
                            .rank = 2,
                            .shape = {out, in},
                            .data = (const unsigned char *)weights};
    tensor_pack_strides(&tensor);
    struct stack stack = {
        .count = 1, .weights = {&tensor}, .in = in, .out = out, .bias = bias};
    struct rewrite rewrite = {0};
    struct bert_error error = {0};
    ck_assert_int_eq(quantize_linear(&stack, &rewrite, NULL, panels, &error), want);
}

START_TEST(odd_sizes_are_padded_with_zeros) {
    enum { OUT = 17, IN = 5 };
    float weights[OUT * IN], bias[OUT];
    for (int i = 0; i < OUT * IN; i++)
        weights[i] = (float)(i % 7 - 3);
    for (int i = 0; i < OUT; i++)
        bias[i] = (float)i;
    int8_t q[32 * 8];
    float scale[32], padded_bias[32];
    int32_t sum[32];
    memset(q, 1, sizeof q);
    struct panels panels = {q, scale, sum, padded_bias};
    ck_assert_uint_eq(panel_bytes(IN, OUT), sizeof q);
    quantise(weights, bias, OUT, IN, &panels, BERT_OK);
    struct linear linear = {.in = IN, .out = OUT, .weight = q};
    for (size_t o = 0; o < 32; o++)
        for (size_t k = 0; k < 8; k++) {
            linear.in = 8;
            int value = quantum(&linear, o, k);
            if (o >= OUT || k >= IN)
                ck_assert_int_eq(value, 0);
            else
                ck_assert_float_le(fabsf((float)value * scale[o] - weights[o * IN + k]),
                                   scale[o] * 0.51f);
        }
    for (size_t o = OUT; o < 32; o++)
        ck_assert(scale[o] == 0 && sum[o] == 0 && padded_bias[o] == 0);
}
END_TEST

START_TEST(extreme_rows) {
    float weights[3 * 4] = {0, 0, 0, 0, 1e-42f, 0, 0, 0, 3e38f, -3e38f, 1, 0};
    float bias[3] = {1, 2, 3};
    int8_t q[16 * 4];
    float scale[16], padded_bias[16];
    int32_t sum[16];
    struct panels panels = {q, scale, sum, padded_bias};
    quantise(weights, bias, 3, 4, &panels, BERT_OK);
    ck_assert(scale[0] == 0 && q[0] == 0 && padded_bias[0] == 1);
    ck_assert(scale[1] == 0 && padded_bias[1] == 2);
    ck_assert(q[8] == 127 && q[9] == -127);
    weights[2] = NAN;
    quantise(weights, bias, 3, 4, &panels, BERT_MODEL);
    weights[2] = INFINITY;
    quantise(weights, bias, 3, 4, &panels, BERT_MODEL);
    weights[2] = 0;
    bias[1] = NAN;
    quantise(weights, bias, 3, 4, &panels, BERT_MODEL);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("quantize");
    TCase *tests = tcase_create("quantize");
    tcase_add_test(tests, layers_behind_norms);
    tcase_add_test(tests, values_and_output_together);
    tcase_add_test(tests, down_and_head);
    tcase_add_test(tests, odd_sizes_are_padded_with_zeros);
    tcase_add_test(tests, extreme_rows);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
