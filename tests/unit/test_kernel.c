/* SPDX-License-Identifier: MIT
 *
 * test_kernel.c: every table that this machine runs leaves the record of the reference
 * bit by bit, whatever the split and whatever the neighbours of a row; the reference
 * itself is held to formulas in double precision, exp and GELU to the errors that
 * polynomial.h states. */
#include "kernel_cases.h"

#include <check.h>

static const struct kernel_table *runnable(int i) {
    return kernel_name(i) ? kernel_select(kernel_name(i)) : NULL;
}

/* ---- All tables alike ------------------------------------------------------------ */

START_TEST(test_equal_bits) {
    struct record reference = {0};
    cases_record(&reference, &kernel_reference);
    ck_assert(!reference.bits.failed && !reference.labels.failed);
    ck_assert_uint_gt(reference.bits.size, 1000000);
    ck_assert_int_eq(reference.alone, 0);
    int compared = 0;
    for (int i = 0; kernel_name(i); i++) {
        const struct kernel_table *table = runnable(i);
        if (!table || table == &kernel_blis)
            continue;
        struct record record = {0};
        cases_record(&record, table);
        const char *difference = record_difference(&reference, &record);
        ck_assert_msg(!difference, "%s: %s", table->name, difference ? difference : "");
        ck_assert_msg(record.alone == 0, "%s: a part or a row alone differs",
                      table->name);
        record_release(&record);
        compared++;
    }
    ck_assert_int_ge(compared, 1);
    record_release(&reference);
}
END_TEST

START_TEST(test_a_difference_is_seen) {
    struct record a = {0}, b = {0};
    float x[3] = {1, NAN, 0}, y[3] = {1, -NAN, -0.0f};
    record_label(&a, "first");
    record_floats(&a, x, 3);
    record_label(&b, "first");
    record_floats(&b, y, 2);
    ck_assert_ptr_nonnull(record_difference(&a, &b));
    record_floats(&b, y + 2, 1);
    ck_assert_ptr_nonnull(record_difference(&a, &b));
    ck_assert_ptr_null(record_difference(&a, &a));
    record_release(&a);
    record_release(&b);
}
END_TEST

START_TEST(test_names) {
    ck_assert_ptr_null(kernel_select("avx1024"));
    ck_assert_ptr_null(kernel_select(""));
    ck_assert_ptr_eq(kernel_select("reference"), &kernel_reference);
    ck_assert_ptr_nonnull(kernel_select(NULL));
    ck_assert_ptr_null(kernel_name(-1));
    int names = 0;
    for (; kernel_name(names); names++) {
        const struct kernel_table *table = kernel_select(kernel_name(names));
        ck_assert(!table || !strcmp(table->name, kernel_name(names)));
    }
    ck_assert_int_eq(names, 9);
}
END_TEST

/* ---- BLIS ------------------------------------------------------------------------ */

static void near_blis(enum bert_precision precision, size_t in, size_t out, size_t rows) {
    struct record alone = {0};
    struct floats x = case_floats(rows * in, PLAIN), w = case_floats(out * in, PLAIN);
    struct floats bias = case_floats(out, PLAIN), y = case_floats(rows * out, PLAIN);
    struct floats z = case_floats(rows * out, PLAIN);
    uint16_t *halves;
    void *base = case_halves(out * in, PLAIN, &halves);
    struct linear linear = {.precision = precision,
                            .in = in,
                            .out = out,
                            .weight =
                                precision == BERT_F16 ? (void *)halves : (void *)w.x,
                            .bias = bias.x};
    struct linear_job job = {.linear = &linear,
                             .rows = rows,
                             .x = x.x,
                             .x_stride = in,
                             .y = y.x,
                             .y_stride = out,
                             .activation = ACTIVATION_GELU};
    case_linear_job(&alone, &kernel_blis, &job, y.x, rows * out);
    ck_assert_int_eq(alone.alone, 0);
    job.y = z.x;
    case_run_linear(&kernel_reference, &job, 0, out);
    for (size_t i = 0; i < rows * out; i++)
        ck_assert_float_eq_tol(y.x[i], z.x[i], 2e-6f * sqrtf((float)in) * 4);
    record_release(&alone);
    free(x.base);
    free(w.base);
    free(bias.base);
    free(y.base);
    free(z.base);
    free(base);
}

START_TEST(test_blis_is_near) {
    if (!kernel_select("blis"))
        return;
    case_state = 5;
    for (int precision = BERT_F32; precision <= BERT_F16; precision++) {
        near_blis(precision, 64, 1, 1);
        near_blis(precision, 100, 33, 2);
        near_blis(precision, 768, 130, 129);
        near_blis(precision, 3072, 65, 5);
        near_blis(precision, 8200, 3, 3);
    }
}
END_TEST

/* ---- The reference against formulas ---------------------------------------------- */

START_TEST(test_linear_formula) {
    enum { IN = 300, OUT = 5 };
    case_state = 7;
    struct floats x = case_floats(IN, PLAIN), w = case_floats(IN * OUT, PLAIN);
    struct floats bias = case_floats(OUT, PLAIN);
    float y[OUT], residual[OUT] = {1, 2, 3, 4, 5};
    struct linear linear = {BERT_F32, IN, OUT, w.x, bias.x, NULL, NULL};
    struct linear_job job = {.linear = &linear,
                             .rows = 1,
                             .x = x.x,
                             .y = y,
                             .y_stride = OUT,
                             .residual = residual};
    kernel_reference.linear_f32(&job, 0, OUT);
    for (int o = 0; o < OUT; o++) {
        double sum = bias.x[o] + residual[o];
        for (int k = 0; k < IN; k++)
            sum += (double)x.x[k] * w.x[o * IN + k];
        ck_assert_double_eq_tol(y[o], sum, 1e-4);
    }
    free(x.base);
    free(w.base);
    free(bias.base);
}
END_TEST

START_TEST(test_quantized_layer_formula) {
    enum { IN = 70, OUT = 3, STRIDE = 128 };
    case_state = 11;
    struct floats x = case_floats(IN, PLAIN);
    uint8_t *data = aligned_alloc(64, STRIDE);
    int8_t *w = aligned_alloc(64, (IN + 3) / 4 * 64);
    memset(w, 0, (IN + 3) / 4 * 64);
    float scale = 0, y[OUT], w_scale[16] = {0.5f, 0.25f, 2}, bias[16] = {1, -1, 0.5f};
    int32_t zero = 0, sum[16] = {0};
    double exact[OUT] = {0}, bound = 0;
    struct quantize_job quantize = {1, IN, x.x, IN, {data, STRIDE, &scale, &zero}};
    kernel_reference.quantize(&quantize, 0, 1);
    for (int k = 0; k < IN; k++) {
        ck_assert_float_eq_tol(scale * (float)(data[k] - zero), x.x[k], scale * 0.5001f);
        for (int o = 0; o < OUT; o++) {
            int q = (int)case_below(255) - 127;
            w[k / 4 * 64 + o * 4 + k % 4] = (int8_t)q;
            sum[o] += q;
            exact[o] += (double)x.x[k] * q * w_scale[o];
        }
        bound += 127 * 0.51 * scale * 2;
    }
    for (int k = IN; k < STRIDE; k++)
        ck_assert_uint_eq(data[k], 0);
    struct linear linear = {BERT_INT8, IN, OUT, w, bias, w_scale, sum};
    struct linear_job job = {.linear = &linear,
                             .rows = 1,
                             .q = {data, STRIDE, &scale, &zero},
                             .y = y,
                             .y_stride = OUT};
    kernel_reference.linear_int8(&job, 0, OUT);
    for (int o = 0; o < OUT; o++)
        ck_assert_double_eq_tol(y[o], exact[o] + bias[o], bound / 8);
    free(x.base);
    free(data);
    free(w);
}
END_TEST

START_TEST(test_layer_norm_formula) {
    enum { WIDTH = 100 };
    case_state = 13;
    struct floats x = case_floats(WIDTH, PLAIN), gamma = case_floats(WIDTH, PLAIN);
    struct floats beta = case_floats(WIDTH, PLAIN);
    struct norm norm = {gamma.x, beta.x, NULL};
    float y[WIDTH];
    struct norm_job job = {1, WIDTH, x.x, WIDTH, &norm, 1e-5f, y, WIDTH, {0}};
    kernel_reference.layer_norm(&job, 0, 1);
    double mean = 0, variance = 0;
    for (int j = 0; j < WIDTH; j++)
        mean += (double)x.x[j] / WIDTH;
    for (int j = 0; j < WIDTH; j++)
        variance += (x.x[j] - mean) * (x.x[j] - mean) / WIDTH;
    for (int j = 0; j < WIDTH; j++)
        ck_assert_double_eq_tol(
            y[j], (x.x[j] - mean) / sqrt(variance + 1e-5) * gamma.x[j] + beta.x[j], 1e-5);
    free(x.base);
    free(gamma.base);
    free(beta.base);
}
END_TEST

START_TEST(test_attention_formula) {
    enum { KEYS = 21, WIDTH = 12 };
    case_state = 17;
    struct floats q = case_floats(WIDTH, PLAIN), k = case_floats(KEYS * WIDTH, PLAIN);
    struct floats v = case_floats(KEYS * WIDTH, PLAIN);
    size_t rows[2] = {0, KEYS}, queries[2] = {0, 1};
    float context[WIDTH];
    struct attention_job job = {1,   1,     WIDTH, rows,  queries, q.x,  k.x,
                                v.x, WIDTH, WIDTH, WIDTH, context, WIDTH};
    kernel_reference.attention(&job, 0, 1);
    double sum = 0, exact[WIDTH] = {0};
    for (int j = 0; j < KEYS; j++) {
        double score = 0;
        for (int d = 0; d < WIDTH; d++)
            score += (double)q.x[d] * k.x[j * WIDTH + d];
        double p = exp(score / sqrt(WIDTH));
        sum += p;
        for (int d = 0; d < WIDTH; d++)
            exact[d] += p * v.x[j * WIDTH + d];
    }
    for (int d = 0; d < WIDTH; d++)
        ck_assert_double_eq_tol(context[d], exact[d] / sum, 1e-5);
    free(q.base);
    free(k.base);
    free(v.base);
}
END_TEST

/* ---- Errors of the functions ----------------------------------------------------- */

START_TEST(test_exp_error) {
    double worst = 0;
    for (int i = 0; i <= 3000000; i++) {
        float x = -87 + (float)i * (175.0f / 3000000);
        x = x > 88 ? 88 : x;
        float answer = kernel_reference.exp_sum(&x, 1, 0);
        double exact = (double)expl((long double)x);
        double ulp = ldexp(1, ilogb(exact) - 23), error = fabs(answer - exact) / ulp;
        worst = error > worst ? error : worst;
    }
    ck_assert_double_le(worst, 1);
    const float special[] = {-87.5f, -1e30f, -INFINITY, 0, 89, NAN};
    ck_assert(kernel_reference.exp_sum(&special[0], 1, 0) == 0);
    ck_assert(kernel_reference.exp_sum(&special[1], 1, 0) == 0);
    ck_assert(kernel_reference.exp_sum(&special[2], 1, 0) == 0);
    ck_assert(kernel_reference.exp_sum(&special[3], 1, 0) == 1);
    ck_assert_float_eq_tol(kernel_reference.exp_sum(&special[4], 1, 0), expf(88), 1e32f);
    ck_assert(isnan(kernel_reference.exp_sum(&special[5], 1, 0)));
}
END_TEST

/* activation(x) through a layer of one input and one output with weight 1. */
static void activations(const float *x, float *y, size_t n, enum activation activation) {
    static const float one = 1, zero = 0;
    struct linear linear = {BERT_F32, 1, 1, &one, &zero, NULL, NULL};
    struct linear_job job = {.linear = &linear,
                             .rows = n,
                             .x = x,
                             .x_stride = 1,
                             .y = y,
                             .y_stride = 1,
                             .activation = activation};
    kernel_reference.linear_f32(&job, 0, 1);
}

START_TEST(test_gelu_error) {
    enum { N = 400001 };
    float *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y);
    double worst = 0, worst_erf = 0, worst_tanh = 0;
    for (int i = 0; i < N; i++)
        x[i] = -10 + (float)i * (20.0f / (N - 1));
    activations(x, y, N, ACTIVATION_GELU);
    for (int i = 0; i < N; i++) {
        double exact = x[i] * 0.5 * erfc(-x[i] / sqrt(2));
        worst = fmax(worst, fabs(y[i] - exact));
        if (fabsf(x[i]) > 0.5f)
            worst_erf = fmax(worst_erf, fabs(y[i] - exact) * 2 / fabsf(x[i]));
    }
    activations(x, y, N, ACTIVATION_GELU_TANH);
    for (int i = 0; i < N; i++) {
        double u = sqrt(2 / acos(-1)) * (x[i] + 0.044715 * pow(x[i], 3));
        worst_tanh = fmax(worst_tanh, fabs(y[i] - x[i] * 0.5 * (1 + tanh(u))));
    }
    ck_assert_double_le(worst, 1e-6);
    ck_assert_double_le(worst_erf, 5e-7);
    ck_assert_double_le(worst_tanh, 2e-6);
    const float special[] = {NAN, INFINITY, -INFINITY, 1e30f, -1e30f, 0};
    activations(special, y, 6, ACTIVATION_GELU);
    ck_assert(isnan(y[0]) && y[1] == INFINITY && y[2] == 0 && y[3] == 1e30f &&
              y[4] == 0 && y[5] == 0);
    activations(special, y, 6, ACTIVATION_GELU_TANH);
    ck_assert(isnan(y[0]) && y[1] == INFINITY && y[3] == 1e30f && y[4] > -1e-5f);
    free(x);
    free(y);
}
END_TEST

/* What is not finite must stay visible to the end of a pass. */
START_TEST(test_not_finite_is_not_lost) {
    float x[32] = {1, 2, NAN}, scale;
    int32_t zero;
    _Alignas(64) uint8_t data[64];
    struct quantize_job job = {1, 32, x, 32, {data, 64, &scale, &zero}};
    kernel_reference.quantize(&job, 0, 1);
    ck_assert(isnan(scale) && zero == 0 && data[0] == 0);
    x[2] = INFINITY;
    kernel_reference.quantize(&job, 0, 1);
    ck_assert(isnan(scale));
    ck_assert(kernel_reference.maximum(x, 32) == INFINITY);
    x[2] = NAN;
    ck_assert(isnan(kernel_reference.maximum(x, 32)));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("kernel");
    TCase *tests = tcase_create("kernel");
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, test_equal_bits);
    tcase_add_test(tests, test_a_difference_is_seen);
    tcase_add_test(tests, test_names);
    tcase_add_test(tests, test_blis_is_near);
    tcase_add_test(tests, test_linear_formula);
    tcase_add_test(tests, test_quantized_layer_formula);
    tcase_add_test(tests, test_layer_norm_formula);
    tcase_add_test(tests, test_attention_formula);
    tcase_add_test(tests, test_exp_error);
    tcase_add_test(tests, test_gelu_error);
    tcase_add_test(tests, test_not_finite_is_not_lost);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
