/* SPDX-License-Identifier: MIT
 *
 * test_loader.c: every layout of the tiny model loads, with equal weights; what is no
 * usable model is refused by name. */
#include "model/loader.h"

#include "scratch.h"

#include <check.h>
#include <math.h>

#define TINY "tests/golden/tiny/"

static struct model_file *load(const char *path, enum bert_precision precision) {
    struct loader_options options = {.precision = precision};
    struct bert_error error = {0};
    struct model_file *file;
    enum bert_status status = loader_open(&file, path, &options, &error);
    ck_assert_msg(status == BERT_OK, "%s", error.message);
    return file;
}

static float at(enum bert_precision precision, const void *data, size_t i) {
    return precision == BERT_F16 ? half_to_float(((const uint16_t *)data)[i])
                                 : ((const float *)data)[i];
}

static void same_floats(const float *a, const float *b, size_t n, double tolerance) {
    for (size_t i = 0; i < n; i++)
        ck_assert_double_le(fabs((double)a[i] - (double)b[i]),
                            tolerance * (fabs((double)a[i]) + 1e-3));
}

static void same_linear(const struct linear *a, const struct linear *b,
                        double tolerance) {
    ck_assert_uint_eq(a->in, b->in);
    ck_assert_uint_eq(a->out, b->out);
    for (size_t i = 0; i < a->in * a->out; i++) {
        double x = (double)at(a->precision, a->weight, i);
        double y = (double)at(b->precision, b->weight, i);
        ck_assert_double_le(fabs(x - y), tolerance * (fabs(x) + 1e-3));
    }
    same_floats(a->bias, b->bias, a->out, tolerance);
}

static void same_table(const struct table *a, const struct table *b, double tolerance) {
    ck_assert_uint_eq(a->rows, b->rows);
    ck_assert_uint_eq(a->width, b->width);
    for (size_t i = 0; i < a->rows * a->width; i++) {
        double x = (double)at(a->precision, a->data, i);
        double y = (double)at(b->precision, b->data, i);
        ck_assert_double_le(fabs(x - y), tolerance * (fabs(x) + 1e-3));
    }
}

static void same_norm(const struct norm *a, const struct norm *b, size_t n,
                      double tolerance) {
    same_floats(a->gamma, b->gamma, n, tolerance);
    same_floats(a->beta, b->beta, n, tolerance);
}

static void same_weights(const struct weights *a, const struct weights *b,
                         double tolerance) {
    size_t hidden = (size_t)a->config.hidden;
    ck_assert_int_eq(a->config.layers, b->config.layers);
    same_table(&a->word, &b->word, tolerance);
    same_table(&a->position, &b->position, tolerance);
    same_table(&a->type, &b->type, tolerance);
    same_norm(&a->embedding_norm, &b->embedding_norm, hidden, tolerance);
    for (int i = 0; i < a->config.layers; i++) {
        const struct layer *x = &a->layers[i], *y = &b->layers[i];
        same_linear(&x->query_key_value, &y->query_key_value, tolerance);
        same_linear(&x->attention_output, &y->attention_output, tolerance);
        same_norm(&x->attention_norm, &y->attention_norm, hidden, tolerance);
        same_linear(&x->up, &y->up, tolerance);
        same_linear(&x->down, &y->down, tolerance);
        same_norm(&x->output_norm, &y->output_norm, hidden, tolerance);
    }
    same_linear(&a->transform, &b->transform, tolerance);
    same_norm(&a->transform_norm, &b->transform_norm, hidden, tolerance);
    same_linear(&a->decoder, &b->decoder, tolerance);
}

static const struct {
    const char *path;
    double tolerance; /* relative: what the element type loses */
} layouts[] = {
    {TINY "f32", 0},
    {TINY "f32/model.safetensors", 0},
    {TINY "sharded", 0},
    {TINY "sharded/model.safetensors.index.json", 0},
    {TINY "f16", 1e-3},
    {TINY "bf16", 8e-3},
    {TINY "bin-zip", 0},
    {TINY "bin-zip/pytorch_model.bin", 0},
    {TINY "bin-legacy", 0}, /* C01 C05 C06 C16 */
    {TINY "bin-module-half", 1e-3},
    {TINY "bin-strided", 0},
    {TINY "tf", 0}, /* C22 C24 */
    {TINY "tf/bert_model.ckpt", 0},
    {TINY "tf/bert_model.ckpt.index", 0},
    {TINY "tf/bert_model.ckpt.data-00000-of-00001", 0},
};

START_TEST(layout_has_the_weights) {
    struct model_file *golden = load(TINY "f32", BERT_PRECISION_DEFAULT);
    struct model_file *file = load(layouts[_i].path, BERT_PRECISION_DEFAULT);
    same_weights(loader_weights(golden), loader_weights(file), layouts[_i].tolerance);
    struct span vocabulary = loader_vocabulary(file);
    ck_assert_int_eq((int)vocabulary.size, 6000);
    ck_assert(loader_tokenizer(file)->lower_case);
    loader_close(file);
    loader_close(golden);
}
END_TEST

START_TEST(f32_is_read_in_place) {
    struct model_file *file = load(TINY "f32", BERT_F32);
    const struct weights *weights = loader_weights(file);
    ck_assert_ptr_eq(weights->word.data, weights->decoder.weight);
    const char *first = weights->layers[0].up.weight,
               *second = weights->layers[1].up.weight;
    ck_assert_int_eq(second - first, 279680 - 237184); /* their offsets in the file */
    loader_close(file);
}
END_TEST

START_TEST(f16_halves_the_weights) {
    struct model_file *golden = load(TINY "f32", BERT_F32);
    struct model_file *file = load(TINY "f32", BERT_F16);
    ck_assert_int_eq(loader_weights(file)->layers[2].down.precision, BERT_F16);
    same_weights(loader_weights(golden), loader_weights(file), 1e-3);
    loader_close(file);
    loader_close(golden);
}
END_TEST

START_TEST(untied_decoder_is_its_own) {
    struct model_file *file = load(TINY "untied", BERT_F32);
    const struct weights *weights = loader_weights(file);
    ck_assert_ptr_ne(weights->word.data, weights->decoder.weight);
    ck_assert_int_ne(memcmp(weights->word.data, weights->decoder.weight, 1200 * 32 * 4),
                     0);
    loader_close(file);
}
END_TEST

START_TEST(no_mmap_reads_the_same) {
    struct model_file *golden = load(TINY "f32", BERT_F32), *file;
    struct loader_options options = {.no_mmap = true};
    ck_assert_int_eq(loader_open(&file, TINY "f32", &options, NULL), BERT_OK);
    same_weights(loader_weights(golden), loader_weights(file), 0);
    struct loader_facts a, b;
    loader_facts(golden, &a);
    loader_facts(file, &b);
    ck_assert_uint_eq(a.identity, b.identity);
    ck_assert_str_eq(b.format, "safetensors");
    loader_close(file);
    loader_close(golden);
}
END_TEST

START_TEST(identity_tells_models_apart) {
    static const char *const paths[] = {TINY "f32", TINY "untied", TINY "f16"};
    uint64_t seen[3];
    for (int i = 0; i < 3; i++) {
        struct model_file *file = load(paths[i], BERT_F32);
        struct loader_facts facts;
        loader_facts(file, &facts);
        seen[i] = facts.identity;
        loader_close(file);
    }
    ck_assert(seen[0] != seen[1] && seen[1] != seen[2] && seen[0] != seen[2]);
}
END_TEST

/* ---- Folders made here: the tiny weights with other small files ---- */

static char last_note[500];

static void take_note(void *arg, const char *line) {
    snprintf(last_note, sizeof last_note, "%s", line);
}

static const char config_tiny[] =
    "{\"hidden_size\": 32, \"num_hidden_layers\": 3, \"num_attention_heads\": 4, "
    "\"intermediate_size\": 96%s}";

static void write_config(const char *more) {
    char text[1000];
    snprintf(text, sizeof text, config_tiny, more);
    scratch_write_text("config.json", text);
}

static void begin_folder(void) {
    scratch_begin();
    scratch_copy(TINY "f32/model.safetensors", "model.safetensors");
    scratch_copy(TINY "f32/vocab.txt", "vocab.txt");
    write_config("");
    last_note[0] = '\0';
}

static struct model_file *load_scratch(void) {
    struct loader_options options = {.note = take_note};
    struct bert_error error = {0};
    struct model_file *file;
    enum bert_status status = loader_open(&file, scratch, &options, &error);
    ck_assert_msg(status == BERT_OK, "%s", error.message);
    return file;
}

static void load_scratch_and_close(void) {
    loader_close(load_scratch());
}

/* The message must hold each of the two parts. */
static void refuses(const char *path, const char *part, const char *other) {
    struct bert_error error = {0};
    struct model_file *file;
    ck_assert_int_eq(loader_open(&file, path, NULL, &error), BERT_MODEL);
    ck_assert_ptr_null(file);
    ck_assert_msg(strstr(error.message, part) && strstr(error.message, other),
                  "'%s' lacks '%s' or '%s'", error.message, part, other);
}

START_TEST(t03_case_is_that_of_tokenizer_config) {
    begin_folder();
    struct model_file *file = load_scratch();
    ck_assert(loader_tokenizer(file)->lower_case &&
              loader_tokenizer(file)->strip_accents);
    loader_close(file);
    scratch_write_text("tokenizer_config.json",
                       "{\"do_lower_case\": false, \"strip_accents\": null}");
    file = load_scratch();
    ck_assert(!loader_tokenizer(file)->lower_case &&
              !loader_tokenizer(file)->strip_accents);
    ck_assert(loader_tokenizer(file)->split_chinese);
    loader_close(file);
    scratch_end();
}
END_TEST

START_TEST(t04_conflict_is_noted_and_tokenizer_config_wins) {
    begin_folder();
    scratch_write_text("tokenizer_config.json", "{\"do_lower_case\": false}");
    scratch_write_text("tokenizer.json", "{\"normalizer\": {\"lowercase\": true}}");
    struct model_file *file = load_scratch();
    ck_assert(!loader_tokenizer(file)->lower_case);
    ck_assert_ptr_nonnull(strstr(last_note, "tokenizer.json says lowercase"));
    loader_close(file);
    scratch_end();
}
END_TEST

/* C03: absent, the decoder is the word table (f32_is_read_in_place); both there and
 * different is said, unless the configuration expects it. */
START_TEST(c03_a_decoder_of_its_own_is_said) {
    begin_folder();
    load_scratch_and_close();
    ck_assert_str_eq(last_note, "");
    scratch_copy(TINY "untied/model.safetensors", "model.safetensors");
    write_config(", \"tie_word_embeddings\": false");
    load_scratch_and_close();
    ck_assert_str_eq(last_note, "");
    write_config("");
    load_scratch_and_close();
    ck_assert_ptr_nonnull(strstr(last_note, "the decoder's own are used"));
    scratch_end();
}
END_TEST

static void check_vocabulary(const char *want) {
    struct model_file *file = load_scratch();
    struct span got = loader_vocabulary(file);
    ck_assert_msg(span_equal(got, span_of(want)), "%.*s", (int)got.size, got.data);
    loader_close(file);
}

START_TEST(t30_t31_t32_vocabulary_bytes_are_kept) {
    begin_folder();
    static const char *const files[] = {"A\n\nB", "[PAD]\r\nx\r\n", "\xef\xbb\xbf[PAD]\n",
                                        "x\nx\n"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        scratch_write_text("vocab.txt", files[i]);
        check_vocabulary(files[i]);
    }
    scratch_end();
}
END_TEST

START_TEST(vocabulary_of_tokenizer_json) {
    begin_folder();
    char *vocab = scratch_path("vocab.txt");
    unlink(vocab);
    free(vocab);
    scratch_write_text("tokenizer.json",
                       "{\"model\": {\"type\": \"WordPiece\", \"vocab\": {\"天\": 2, "
                       "\"[PAD]\": 0, \"##b\": 1}}, \"added_tokens\": [{\"id\": 3, "
                       "\"content\": \"[NEW]\"}, {\"id\": 0, \"content\": \"[PAD]\"}]}");
    check_vocabulary("[PAD]\n##b\n天\n[NEW]\n");
    scratch_write_text("tokenizer.json",
                       "{\"model\": {\"vocab\": {\"a\": 0, \"b\": 9}}}");
    refuses(scratch, "tokenizer.json", "out of range");
    scratch_write_text("tokenizer.json",
                       "{\"model\": {\"vocab\": {\"a\": 0, \"b\": 0}}}");
    refuses(scratch, "tokenizer.json", "one id");
    scratch_write_text("tokenizer.json",
                       "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}}}");
    refuses(scratch, "tokenizer.json", "WordPiece");
    scratch_write_text("tokenizer.json", "{");
    refuses(scratch, "tokenizer.json", "line 1");
    scratch_end();
}
END_TEST

START_TEST(folder_without_vocabulary) {
    begin_folder();
    char *vocab = scratch_path("vocab.txt");
    unlink(vocab);
    free(vocab);
    refuses(scratch, "no vocab.txt", scratch);
    write_config(", \"vocab_size\": 21128");
    struct loader_options options = {.tokenizer_only = true, .note = take_note};
    struct model_file *file;
    ck_assert_int_eq(loader_open(&file, scratch, &options, NULL), BERT_OK);
    ck_assert_int_eq((int)loader_vocabulary(file).size, 109540);
    ck_assert(!loader_tokenizer(file)->lower_case);
    ck_assert_ptr_nonnull(strstr(last_note, "bert-base-chinese"));
    ck_assert_ptr_null(loader_weights(file));
    loader_close(file);
    scratch_end();
}
END_TEST

START_TEST(c21_vocabulary_longer_than_the_embedding) {
    begin_folder();
    struct buffer text = {0};
    for (int i = 0; i < 1201; i++)
        buffer_printf(&text, "w%d\n", i);
    scratch_write("vocab.txt", text.data, text.size);
    buffer_release(&text);
    refuses(scratch, "1201", "1200");
    scratch_end();
}
END_TEST

START_TEST(c04_no_head_is_refused) {
    refuses(TINY "no-head", "no masked-LM head", "no-head");
}
END_TEST

START_TEST(c08_git_lfs_pointer) {
    static const char pointer[] =
        "version https://git-lfs.github.com/spec/v1\noid sha256:00\n"
        "size 409102348\n";
    begin_folder();
    scratch_write_text("model.safetensors", pointer);
    refuses(scratch, "Git LFS pointer", "model.safetensors");
    char *path = scratch_path("model.safetensors");
    unlink(path);
    free(path);
    scratch_write_text("pytorch_model.bin", pointer);
    refuses(scratch, "Git LFS pointer", "pytorch_model.bin");
    scratch_end();
}
END_TEST

START_TEST(c25_silent_configuration_takes_the_tensors_sizes) {
    begin_folder();
    struct model_file *file = load_scratch();
    const struct model_config *config = &loader_weights(file)->config;
    ck_assert_int_eq(config->types, 2);
    ck_assert_int_eq(config->vocabulary, 1200);
    ck_assert_int_eq(config->positions, 512);
    loader_close(file);
    scratch_end();
}
END_TEST

static const struct {
    const char *more, *part, *other;
} bad_configs[] = {
    {", \"model_type\": \"roberta\"", "model_type", "roberta"},
    {", \"position_embedding_type\": \"relative_key\"", "position_embedding_type",
     "relative"},
    {", \"hidden_act\": \"relu\"", "hidden_act", "relu"}, /* C19 */
    {", \"is_decoder\": true", "is_decoder", "encoders"},
    {", \"vocab_size\": 1201", "word_embeddings", "1201"},
    {", \"vocab_size\": -1", "vocab_size", "whole number"},
    {", \"vocab_size\": 1200.5", "vocab_size", "whole number"},
    {", \"type_vocab_size\": \"2\"", "type_vocab_size", "whole number"},
    {", \"max_position_embeddings\": 511", "position_embeddings", "511"},
    {", \"layer_norm_eps\": -1", "layer_norm_eps", "from 0 to 1"},
    {", \"hidden_size\": 32", "config.json", "line 1"}, /* twice */
};

START_TEST(bad_configuration_is_refused) {
    begin_folder();
    write_config(bad_configs[_i].more);
    refuses(scratch, bad_configs[_i].part, bad_configs[_i].other);
    scratch_end();
}
END_TEST

START_TEST(more_layers_than_there_are) {
    begin_folder();
    scratch_write_text("config.json",
                       "{\"hidden_size\": 32, \"num_hidden_layers\": 4, "
                       "\"num_attention_heads\": 4, \"intermediate_size\": 96}");
    refuses(scratch, "no tensor", "bert.encoder.layer.3.");
    scratch_write_text("config.json",
                       "{\"hidden_size\": 32, \"num_attention_heads\": 5}");
    refuses(scratch, "hidden_size", "5 heads");
    scratch_end();
}
END_TEST

static const struct {
    const char *more;
    float epsilon;
    enum activation activation;
} good_configs[] = {
    {"", 1e-12f, ACTIVATION_GELU}, /* C18 */
    {", \"layer_norm_eps\": 1e-5", 1e-5f, ACTIVATION_GELU},
    {", \"hidden_act\": \"gelu_new\"", 1e-12f, ACTIVATION_GELU_TANH}, /* C19 */
};

START_TEST(c18_c19_epsilon_and_gelu) {
    begin_folder();
    write_config(good_configs[_i].more);
    struct model_file *file = load_scratch();
    const struct model_config *config = &loader_weights(file)->config;
    ck_assert_float_eq(config->epsilon, good_configs[_i].epsilon);
    ck_assert_int_eq(config->activation, good_configs[_i].activation);
    loader_close(file);
    scratch_end();
}
END_TEST

START_TEST(what_is_no_model) {
    scratch_begin();
    refuses("/nonexistent/model", "/nonexistent/", "no such");
    refuses(scratch, "no config.json", scratch);
    write_config("");
    scratch_copy(TINY "f32/vocab.txt", "vocab.txt");
    refuses(scratch, "no weights", scratch);
    scratch_end();
}
END_TEST

int main(void) {
    Suite *suite = suite_create("loader");
    TCase *files = tcase_create("files");
    tcase_add_loop_test(files, layout_has_the_weights, 0,
                        sizeof layouts / sizeof *layouts);
    tcase_add_test(files, f32_is_read_in_place);
    tcase_add_test(files, f16_halves_the_weights);
    tcase_add_test(files, untied_decoder_is_its_own);
    tcase_add_test(files, no_mmap_reads_the_same);
    tcase_add_test(files, identity_tells_models_apart);
    tcase_add_test(files, t03_case_is_that_of_tokenizer_config);
    tcase_add_test(files, t04_conflict_is_noted_and_tokenizer_config_wins);
    tcase_add_test(files, c03_a_decoder_of_its_own_is_said);
    tcase_add_test(files, t30_t31_t32_vocabulary_bytes_are_kept);
    tcase_add_test(files, vocabulary_of_tokenizer_json);
    tcase_add_test(files, folder_without_vocabulary);
    tcase_add_test(files, c25_silent_configuration_takes_the_tensors_sizes);
    tcase_add_loop_test(files, c18_c19_epsilon_and_gelu, 0,
                        sizeof good_configs / sizeof *good_configs);
    suite_add_tcase(suite, files);
    TCase *refused = tcase_create("refused");
    tcase_add_test(refused, c04_no_head_is_refused);
    tcase_add_test(refused, c08_git_lfs_pointer);
    tcase_add_test(refused, c21_vocabulary_longer_than_the_embedding);
    tcase_add_loop_test(refused, bad_configuration_is_refused, 0,
                        sizeof bad_configs / sizeof *bad_configs);
    tcase_add_test(refused, more_layers_than_there_are);
    tcase_add_test(refused, what_is_no_model);
    suite_add_tcase(suite, refused);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
