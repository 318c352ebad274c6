/* SPDX-License-Identifier: MIT
 *
 * test_bertfile.c: model.bert files of every precision hold the model that they were made
 * of, and damaged ones are refused. */
#include "io/json.h"
#include "model/bertfile_format.h"
#include "model/loader.h"
#include "model/origin.h"
#include "service/convert.h"

#include "scratch.h"

#include <check.h>
#include <fcntl.h>
#include <sys/stat.h>

#define TINY "tests/golden/tiny/"

static struct convert_report convert(const char *source, const char *name,
                                     enum bert_precision precision) {
    struct convert_options options = {.precision = precision, .jobs = 2};
    struct convert_report report;
    struct bert_error error = {0};
    char *path = scratch_path(name);
    enum bert_status status = convert_run(source, path, &options, &report, &error);
    ck_assert_msg(status == BERT_OK, "%s", error.message);
    free(path);
    return report;
}

static struct model_file *load(const char *path, enum bert_precision precision) {
    struct loader_options options = {.precision = precision};
    struct bert_error error = {0};
    struct model_file *file;
    enum bert_status status = loader_open(&file, path, &options, &error);
    ck_assert_msg(status == BERT_OK, "%s", error.message);
    return file;
}

static struct model_file *load_scratch(const char *name, enum bert_precision precision) {
    char *path = scratch_path(name);
    struct model_file *file = load(path, precision);
    free(path);
    return file;
}

static void same_bytes(const void *a, const void *b, size_t size) {
    ck_assert_int_eq(memcmp(a, b, size), 0);
}

static size_t weight_size(const struct linear *linear) {
    size_t count = linear->in * linear->out;
    return linear->precision == BERT_F32   ? count * 4
           : linear->precision == BERT_F16 ? count * 2
                                           : (linear->out + 15) / 16 * 16 * linear->in;
}

static void same_linear(const struct linear *a, const struct linear *b) {
    ck_assert_int_eq(a->precision, b->precision);
    ck_assert_uint_eq(a->in, b->in);
    ck_assert_uint_eq(a->out, b->out);
    same_bytes(a->weight, b->weight, weight_size(a));
    same_bytes(a->bias, b->bias, a->out * sizeof *a->bias);
    if (a->precision == BERT_INT8) {
        same_bytes(a->scale, b->scale, a->out * sizeof *a->scale);
        same_bytes(a->sum, b->sum, a->out * sizeof *a->sum);
    }
}

static void same_model(const struct model_file *x, const struct model_file *y) {
    const struct weights *a = loader_weights(x), *b = loader_weights(y);
    size_t wide = a->precision == BERT_F32 ? 4 : 2;
    ck_assert_int_eq(a->precision, b->precision);
    ck_assert_int_eq(memcmp(&a->config, &b->config, sizeof a->config), 0);
    same_bytes(a->word.data, b->word.data, a->word.rows * a->word.width * wide);
    same_bytes(a->position.data, b->position.data,
               a->position.rows * a->position.width * wide);
    same_bytes(a->type.data, b->type.data, a->type.rows * a->type.width * wide);
    for (int i = 0; i < a->config.layers; i++) {
        same_linear(&a->layers[i].query_key_value, &b->layers[i].query_key_value);
        same_linear(&a->layers[i].attention_output, &b->layers[i].attention_output);
        same_linear(&a->layers[i].up, &b->layers[i].up);
        same_linear(&a->layers[i].down, &b->layers[i].down);
        same_bytes(a->layers[i].output_norm.gamma, b->layers[i].output_norm.gamma,
                   32 * 4);
        same_bytes(a->layers[i].output_norm.beta, b->layers[i].output_norm.beta, 32 * 4);
    }
    same_linear(&a->transform, &b->transform);
    same_linear(&a->decoder, &b->decoder);
    ck_assert(span_equal(loader_vocabulary(x), loader_vocabulary(y)));
    ck_assert_int_eq(loader_tokenizer(x)->lower_case, loader_tokenizer(y)->lower_case);
}

static const char *const folders[] = {"f32",         "untied",          "f16", "bf16",
                                      "bin-zip",     "bin-module-half", "tf",  "sharded",
                                      "bin-strided", "bin-legacy"};

START_TEST(file_equals_folder_in_each_precision) {
    scratch_begin();
    char source[100];
    snprintf(source, sizeof source, TINY "%s", folders[_i]);
    for (int precision = BERT_F32; precision <= BERT_INT8; precision++) {
        convert(source, "x.bert", (enum bert_precision)precision);
        struct model_file *file = load_scratch("x.bert", BERT_PRECISION_DEFAULT);
        struct model_file *folder = load(source, (enum bert_precision)precision);
        same_model(file, folder);
        struct loader_facts facts;
        loader_facts(file, &facts);
        ck_assert_str_eq(facts.format, "model.bert");
        ck_assert_str_eq(facts.source, folders[_i]);
        loader_close(file);
        loader_close(folder);
        char *path = scratch_path("x.bert");
        uint64_t bytes;
        ck_assert_int_eq(convert_verify(path, false, &bytes, NULL), BERT_OK);
        free(path);
    }
    scratch_end();
}
END_TEST

START_TEST(weights_of_a_file_are_read_in_place) {
    scratch_begin();
    convert(TINY "f32", "x.bert", BERT_F32);
    struct model_file *file = load_scratch("x.bert", BERT_PRECISION_DEFAULT);
    const struct weights *weights = loader_weights(file);
    /* queries, keys and values are one matrix in the mapping, before the output's */
    const char *attention = weights->layers[0].query_key_value.weight;
    const char *output = weights->layers[0].attention_output.weight;
    ck_assert_int_eq(output - attention, 3 * 32 * 32 * 4 + 3 * 32 * 4);
    ck_assert_uint_eq((uintptr_t)attention % BERTFILE_ALIGNMENT, 0);
    loader_close(file);
    scratch_end();
}
END_TEST

START_TEST(file_changes_precision_at_load) {
    scratch_begin();
    convert(TINY "f32", "x.bert", BERT_F32);
    struct model_file *file = load_scratch("x.bert", BERT_INT8);
    struct model_file *folder = load(TINY "f32", BERT_INT8);
    same_model(file, folder);
    loader_close(file);
    loader_close(folder);
    convert(TINY "f32", "y.bert", BERT_INT8);
    struct loader_options options = {.precision = BERT_F32};
    struct bert_error error = {0};
    char *path = scratch_path("y.bert");
    ck_assert_int_eq(loader_open(&file, path, &options, &error), BERT_MODEL);
    ck_assert_ptr_nonnull(strstr(error.message, "int8"));
    free(path);
    scratch_end();
}
END_TEST

START_TEST(threads_do_not_change_the_file) {
    scratch_begin();
    struct convert_options options = {.precision = BERT_INT8, .jobs = 1};
    struct convert_report one, two = convert(TINY "f32", "x.bert", BERT_INT8);
    char *path = scratch_path("y.bert");
    ck_assert_int_eq(convert_run(TINY "f32", path, &options, &one, NULL), BERT_OK);
    ck_assert_str_eq(one.result.sha256, two.result.sha256);
    ck_assert_str_eq(one.source.sha256,
                     "56122784a695a5fd1343acd31d95f909b0ae27dcdfa5dc190e679fd19f878da9");
    free(path);
    scratch_end();
}
END_TEST

START_TEST(round_trip_to_hugging_face) {
    scratch_begin();
    convert(TINY "untied", "x.bert", BERT_F32);
    char *file = scratch_path("x.bert");
    char *folder = scratch_path("out");
    struct convert_options options = {.hugging_face = true, .jobs = 1};
    struct convert_report report;
    ck_assert_int_eq(convert_run(file, folder, &options, &report, NULL), BERT_OK);
    struct model_file *a = load(TINY "untied", BERT_F32), *b = load(folder, BERT_F32);
    same_model(a, b);
    loader_close(a);
    loader_close(b);
    static const char *const names[] = {"model.safetensors", "config.json", "vocab.txt",
                                        "tokenizer_config.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = path_join(folder, names[i]);
        ck_assert_int_eq(unlink(path), 0);
        free(path);
    }
    rmdir(folder);
    free(folder);
    free(file);
    scratch_end();
}
END_TEST

/* ---- Damage ---- */

static struct buffer good; /* an int8 model.bert */
static size_t head_end;    /* where the vocabulary ends */

static void make_good(void) {
    scratch_begin();
    convert(TINY "f32", "x.bert", BERT_INT8);
    char *path = scratch_path("x.bert");
    good = scratch_read(path);
    head_end = 8 + (size_t)load_u64(good.data) + 6000;
    free(path);
}

static void drop_good(void) {
    buffer_release(&good);
    scratch_end();
}

static enum bert_status open_damaged(struct bert_error *error) {
    char *path = scratch_path("x.bert");
    struct model_file *file;
    enum bert_status status = loader_open(&file, path, NULL, error);
    if (status == BERT_OK)
        loader_close(file);
    free(path);
    return status;
}

START_TEST(flipped_bit_in_the_head_is_found) {
    make_good();
    for (size_t at = 0; at < head_end; at += at < 200 ? 1 : 61) {
        struct bert_error error = {0};
        good.data[at] ^= (char)(1 << at % 8);
        scratch_write("x.bert", good.data, good.size);
        ck_assert_msg(open_damaged(&error) == BERT_MODEL, "byte %zu", at);
        ck_assert_uint_gt(strlen(error.message), 0);
        good.data[at] ^= (char)(1 << at % 8);
    }
    drop_good();
}
END_TEST

START_TEST(flipped_weight_is_found_by_verify_alone) {
    make_good();
    char *path = scratch_path("x.bert");
    static const size_t from_end[] = {1, 5000, 20000, 60000};
    for (size_t i = 0; i < 4; i++) {
        struct bert_error error = {0};
        uint64_t bytes;
        good.data[good.size - from_end[i]] ^= 1;
        scratch_write("x.bert", good.data, good.size);
        ck_assert_int_eq(open_damaged(NULL), BERT_OK);
        ck_assert_int_eq(convert_verify(path, false, &bytes, &error), BERT_MODEL);
        good.data[good.size - from_end[i]] ^= 1;
    }
    free(path);
    drop_good();
}
END_TEST

START_TEST(truncated_file_is_refused) {
    make_good();
    for (size_t size = 0; size < good.size; size += size < 300 ? 1 : 2999) {
        scratch_write("x.bert", good.data, size);
        ck_assert_int_eq(open_damaged(NULL), BERT_MODEL);
    }
    scratch_write("x.bert", good.data, good.size);
    ck_assert_int_eq(open_damaged(NULL), BERT_OK);
    buffer_add_byte(&good, 0);
    scratch_write("x.bert", good.data, good.size);
    ck_assert_int_eq(open_damaged(NULL), BERT_MODEL);
    drop_good();
}
END_TEST

START_TEST(newer_version_is_refused_by_number) {
    make_good();
    struct bert_error error = {0};
    char *at = memmem(good.data, good.size, "\"version\": \"1\"", 14);
    ck_assert_ptr_nonnull(at);
    at[12] = '7';
    scratch_write("x.bert", good.data, good.size);
    ck_assert_int_eq(open_damaged(&error), BERT_MODEL);
    ck_assert_msg(strstr(error.message, "version 7") != NULL, "%s", error.message);
    drop_good();
}
END_TEST

START_TEST(foreign_files_are_no_model_bert) {
    make_good();
    struct bert_error error = {0};
    scratch_copy(TINY "f32/model.safetensors", "x.bert");
    ck_assert_int_eq(open_damaged(&error), BERT_MODEL);
    ck_assert_ptr_nonnull(strstr(error.message, "no model.bert"));
    scratch_write_text("x.bert", "version https://git-lfs.github.com/spec/v1\n");
    ck_assert_int_eq(open_damaged(&error), BERT_MODEL);
    ck_assert_ptr_nonnull(strstr(error.message, "Git LFS pointer"));
    drop_good();
}
END_TEST

/* ---- What convert_run refuses ---- */

START_TEST(nan_is_refused_and_leaves_no_file) {
    scratch_begin();
    struct buffer bytes = scratch_read(TINY "f32/model.safetensors");
    static const size_t places[] = {0, 249728, 228480,
                                    67000}; /* bias, up, query, words */
    scratch_copy(TINY "f32/config.json", "config.json");
    scratch_copy(TINY "f32/vocab.txt", "vocab.txt");
    for (int i = 0; i < 12; i++) {
        struct convert_options options = {.precision = (enum bert_precision)(1 + i % 3),
                                          .jobs = 1};
        struct convert_report report;
        struct bert_error error = {0};
        char *at = bytes.data + 8 + 6312 + places[i / 3], saved[4];
        memcpy(saved, at, 4);
        memcpy(at, "\0\0\xc0\x7f", 4);
        scratch_write("model.safetensors", bytes.data, bytes.size);
        char *out = scratch_path("x.bert");
        ck_assert_int_eq(convert_run(scratch, out, &options, &report, &error),
                         BERT_MODEL);
        ck_assert_msg(strstr(error.message, "not finite") != NULL, "%s", error.message);
        ck_assert(!path_exists(out));
        free(out);
        memcpy(at, saved, 4);
    }
    buffer_release(&bytes);
    scratch_end();
}
END_TEST

START_TEST(outputs_that_cannot_be) {
    static const struct {
        const char *path;
        enum bert_status status;
    } outputs[] = {{"-", BERT_USAGE},
                   {"/dev/null", BERT_USAGE},
                   {"/tmp", BERT_USAGE},
                   {"/nonexistent/x.bert", BERT_IO}};
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        struct convert_options options = {.jobs = 1};
        struct convert_report report;
        ck_assert_int_eq(
            convert_run(TINY "f32", outputs[i].path, &options, &report, NULL),
            outputs[i].status);
    }
    struct convert_options options = {.jobs = 1};
    struct convert_report report;
    struct bert_error error = {0};
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0) {
        const char *path = ptsname(terminal);
        ck_assert_int_eq(convert_run(TINY "f32", path, &options, &report, &error),
                         BERT_USAGE);
        ck_assert_ptr_nonnull(strstr(error.message, ": is a terminal"));
    }
    close(terminal);
    ck_assert_int_eq(
        convert_run(TINY "no-head", "/tmp/never.bert", &options, &report, &error),
        BERT_MODEL);
    ck_assert_ptr_nonnull(strstr(error.message, "no masked-LM head"));
}
END_TEST

START_TEST(inspect_lists_every_format) {
    static const char *const paths[] = {TINY "f32", TINY "bin-zip", TINY "bin-legacy",
                                        TINY "tf", TINY "no-head"};
    struct buffer text = {0}, json = {0};
    ck_assert_int_eq(convert_inspect(paths[_i], false, false, &text, NULL), BERT_OK);
    ck_assert_ptr_nonnull(buffer_text(&text));
    ck_assert_ptr_nonnull(strstr(text.data, "1200x32\t153600\t"
                                            "bert.embeddings.word_embeddings.weight\n"));
    ck_assert_int_eq(convert_inspect(paths[_i], false, true, &json, NULL), BERT_OK);
    struct json *parsed;
    ck_assert_int_eq(json_parse(&parsed, json.data, json.size, 0, NULL), BERT_OK);
    ck_assert_uint_gt(json_count(json_member(parsed, "tensors")), 50);
    json_free(parsed);
    buffer_release(&text);
    buffer_release(&json);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("bertfile");
    TCase *tests = tcase_create("bertfile");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, file_equals_folder_in_each_precision, 0,
                        sizeof folders / sizeof *folders);
    tcase_add_test(tests, weights_of_a_file_are_read_in_place);
    tcase_add_test(tests, file_changes_precision_at_load);
    tcase_add_test(tests, threads_do_not_change_the_file);
    tcase_add_test(tests, round_trip_to_hugging_face);
    tcase_add_test(tests, flipped_bit_in_the_head_is_found);
    tcase_add_test(tests, flipped_weight_is_found_by_verify_alone);
    tcase_add_test(tests, truncated_file_is_refused);
    tcase_add_test(tests, newer_version_is_refused_by_number);
    tcase_add_test(tests, foreign_files_are_no_model_bert);
    tcase_add_test(tests, nan_is_refused_and_leaves_no_file);
    tcase_add_test(tests, outputs_that_cannot_be);
    tcase_add_loop_test(tests, inspect_lists_every_format, 0, 5);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
