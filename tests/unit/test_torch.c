/* SPDX-License-Identifier: MIT
 *
 * test_torch.c: pickles that would do more than describe tensors, and torch files whose
 * parts contradict each other. */
#include "model/pickle.h"
#include "model/torchfile.h"

#include "scratch.h"

#include <check.h>

#define TINY "tests/golden/tiny/"

/* ---- Pickles ---- */

static const struct {
    const char *bytes;
    size_t size;
    const char *why;
} bad_pickles[] = {
#define P(text, why) \
    { text, sizeof text - 1, why }
    /* C17 */
    P("\x80\x02"
      "cposix\nsystem\nX\4\0\0\0true\x85R.",
      "posix.system"),
    P("\x80\x02"
      "cos\nsystem\n(X\1\0\0\0xtR.",
      "os.system"),
    P("\x80\x04\x8c\x08"
      "builtins\x8c\x04"
      "eval\x93.",
      "builtins.eval"),
    P("\x80\x02"
      "cbuiltins\ngetattr\n.",
      "builtins.getattr"),
    P("\x80\x02(S'echo'\ni", "opcode 0x53"),
    P("\x80\x02}\x81.", "opcode 0x81"),
    P("\x80\x02"
      "K\1K\2K\3s.",
      "cannot hold"),
    P("\x80\x02](K\1K\2u.", "cannot hold"),
    P("\x80\x02}K\1a.", "cannot hold"),
    P("\x80\x02}K\1s.", "too few values"),
    P("\x80\x02s.", "too few values"),
    P("\x80\x02R.", "too few values"),
    P("\x80\x02"
      "u.",
      "mark is missing"),
    P("\x80\x02(}K\1K\2s.", "full stack"),
    P("\x80\x02((((.", "empty one"),
    P("\x80\x02h\7.", "never stored"),
    P("\x80\x02K\1r\xff\xff\xff\xff.", "too many values"),
    P("\x80\x02X\xff\xff\xff\xff"
      "abc.",
      "truncated"),
    P("\x80\x02\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
      "abc.",
      "truncated"),
    P("\x80\x02}", "truncated"),
    P("", "truncated"),
    P("\x80\x02K\1)R.", "no callable"),
    P("\x80\x02"
      "ctorch\nFloatStorage\n)R.",
      "storage class"),
    P("\x80\x02)Q.", "not described"),
    P("\x80\x02"
      "ctorch._utils\n_rebuild_tensor_v2\n)R.",
      "not described"),
    P("\x80\x02"
      "ctorch._utils\n_rebuild_parameter\n)R.",
      "without its argument"),
    P("\x80\x02"
      "ccollections\nOrderedDict\n]]K\1aa\x85R.",
      "as Python does"),
#undef P
};

static enum bert_status read_all(struct pickle *pickle, const void *bytes, size_t size,
                                 struct bert_error *error) {
    size_t used = 0;
    *pickle = (struct pickle){0};
    enum bert_status status = pickle_read(pickle, bytes, size, &used, error);
    ck_assert_uint_le(used, size);
    return status;
}

START_TEST(c17_pickle_is_refused) {
    struct pickle pickle;
    struct bert_error error = {0};
    char *exact =
        malloc(bad_pickles[_i].size + 1); /* so that a read past its end shows */
    memcpy(exact, bad_pickles[_i].bytes, bad_pickles[_i].size);
    exact = realloc(exact, bad_pickles[_i].size ? bad_pickles[_i].size : 1);
    ck_assert_int_eq(read_all(&pickle, exact, bad_pickles[_i].size, &error), BERT_MODEL);
    ck_assert_msg(strstr(error.message, bad_pickles[_i].why) != NULL, "'%s' lacks '%s'",
                  error.message, bad_pickles[_i].why);
    pickle_release(&pickle);
    free(exact);
}
END_TEST

START_TEST(pickle_that_contains_itself_ends) {
    /* a list and a dict that hold themselves */
    static const char list[] = "\x80\x02]q\0h\0a.",
                      dict[] = "\x80\x02}q\0X\1\0\0\0kh\0s.";
    struct pickle pickle;
    ck_assert_int_eq(read_all(&pickle, list, sizeof list - 1, NULL), BERT_OK);
    struct pickle_walk walk = pickle_walk(&pickle, pickle.root);
    ck_assert(pickle_next(&pickle, &walk) && walk.value == pickle.root);
    ck_assert(!pickle_next(&pickle, &walk));
    pickle_release(&pickle);
    ck_assert_int_eq(read_all(&pickle, dict, sizeof dict - 1, NULL), BERT_OK);
    pickle_release(&pickle);
}
END_TEST

START_TEST(pickle_memory_is_bounded) {
    struct buffer bytes = {0};
    for (int i = 0; i < PICKLE_LIMIT + 10; i++)
        buffer_add_byte(&bytes, 'N');
    struct pickle pickle;
    struct bert_error error = {0};
    ck_assert_int_eq(read_all(&pickle, bytes.data, bytes.size, &error), BERT_MODEL);
    ck_assert_ptr_nonnull(strstr(error.message, "too many values"));
    pickle_release(&pickle);
    buffer_release(&bytes);
}
END_TEST

START_TEST(python_2_dict_and_integers) {
    static const char dict[] = "\x80\x02"
                               "ccollections\nOrderedDict\n](]U\1aa"
                               "]q\1(U\1bK\7eX\1\0\0\0z0e\x85R.";
    static const char good[] = "\x80\x02"
                               "ccollections\nOrderedDict\n]](U\1bK\7ea\x85R.";
    struct pickle pickle;
    struct bert_error error = {0};
    ck_assert_int_eq(read_all(&pickle, good, sizeof good - 1, &error), BERT_OK);
    struct pickle_walk walk = pickle_walk(&pickle, pickle.root);
    struct span key;
    ck_assert(pickle_next(&pickle, &walk) && pickle_text(&pickle, walk.key, &key));
    ck_assert(key.size == 1 && key.data[0] == 'b');
    pickle_release(&pickle);
    ck_assert_int_eq(read_all(&pickle, dict, sizeof dict - 1, &error), BERT_MODEL);
    pickle_release(&pickle);
}
END_TEST

/* ---- Files ---- */

static void refused(const char *name, const char *part, const char *other) {
    char *path = scratch_path(name);
    struct checkpoint checkpoint;
    struct bert_error error = {0};
    ck_assert_int_eq(checkpoint_open(&checkpoint, path, false, &error), BERT_MODEL);
    ck_assert_msg(strstr(error.message, part) || strstr(error.message, other),
                  "'%s' has neither '%s' nor '%s'", error.message, part, other);
    free(path);
}

START_TEST(c15_truncated_zip) {
    struct buffer bytes = scratch_read(TINY "bin-zip/pytorch_model.bin");
    scratch_begin();
    static const double shares[] = {0.999, 0.9, 0.5, 0.01, 0.0001};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        scratch_write("pytorch_model.bin", bytes.data,
                      (size_t)((double)bytes.size * shares[i]));
        refused("pytorch_model.bin", "truncated", "damaged");
    }
    scratch_end();
    buffer_release(&bytes);
}
END_TEST

START_TEST(truncated_legacy) {
    struct buffer bytes = scratch_read(TINY "bin-legacy/pytorch_model.bin");
    scratch_begin();
    for (size_t size = 15; size < bytes.size; size += size < 8000 ? 97 : 20011) {
        scratch_write("pytorch_model.bin", bytes.data, size);
        refused("pytorch_model.bin", "truncated", "invalid");
    }
    scratch_end();
    buffer_release(&bytes);
}
END_TEST

/* Replaces the first occurrence of from, of the same size. */
static void patch(struct buffer *bytes, const char *from, const char *to, size_t size) {
    char *at = memmem(bytes->data, bytes->size, from, size);
    ck_assert_ptr_nonnull(at);
    memcpy(at, to, size);
}

static const struct {
    const char *from, *to;
    size_t size;
    const char *why, *other;
} patches[] = {
    /* a storage of more elements than there are */
    {"K\x20Nt", "K\xffNt", 4, "two ways", "another size"},
    /* a tensor that reaches beyond its storage: shape of 32 becomes 255 */
    {"K\x20\x85q", "K\xff\x85q", 4, "beyond its storage", "beyond its storage"},
    {"FloatStorage", "FloatStoragf", 12, "not data", "not data"},
    {"_rebuild_tensor_v2", "_rebuild_tensor_v9", 18, "not data", "not data"},
};

START_TEST(c17_contradictions_in_a_legacy_file) {
    struct buffer bytes = scratch_read(TINY "bin-legacy/pytorch_model.bin");
    scratch_begin();
    patch(&bytes, patches[_i].from, patches[_i].to, patches[_i].size);
    scratch_write("pytorch_model.bin", bytes.data, bytes.size);
    refused("pytorch_model.bin", patches[_i].why, patches[_i].other);
    scratch_end();
    buffer_release(&bytes);
}
END_TEST

START_TEST(zip_that_is_compressed_or_lies) {
    struct buffer bytes = scratch_read(TINY "bin-zip/pytorch_model.bin");
    scratch_begin();
    /* In the central directory (PK 1 2): the method, then the sizes, of the first entry.
     */
    char *entry = memmem(bytes.data, bytes.size, "PK\1\2", 4);
    ck_assert_ptr_nonnull(entry);
    entry[10] = 8; /* deflate */
    scratch_write("pytorch_model.bin", bytes.data, bytes.size);
    refused("pytorch_model.bin", "compressed", "damaged");
    entry[10] = 0;
    memset(entry + 20, 0x7f, 8); /* 2 GB, packed and unpacked */
    scratch_write("pytorch_model.bin", bytes.data, bytes.size);
    refused("pytorch_model.bin", "larger than the file", "damaged");
    scratch_end();
    buffer_release(&bytes);
}
END_TEST

START_TEST(what_is_no_torch_file) {
    scratch_begin();
    scratch_write_text("pytorch_model.bin", "hello, this is not a model at all");
    refused("pytorch_model.bin", "no PyTorch file", "no PyTorch file");
    scratch_write("pytorch_model.bin", "PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 22);
    refused("pytorch_model.bin", "no PyTorch file", "no data.pkl");
    scratch_end();
}
END_TEST

int main(void) {
    Suite *suite = suite_create("torch");
    TCase *tests = tcase_create("torch");
    tcase_add_loop_test(tests, c17_pickle_is_refused, 0,
                        sizeof bad_pickles / sizeof *bad_pickles);
    tcase_add_test(tests, pickle_that_contains_itself_ends);
    tcase_add_test(tests, pickle_memory_is_bounded);
    tcase_add_test(tests, python_2_dict_and_integers);
    tcase_add_test(tests, c15_truncated_zip);
    tcase_add_test(tests, truncated_legacy);
    tcase_add_loop_test(tests, c17_contradictions_in_a_legacy_file, 0,
                        sizeof patches / sizeof *patches);
    tcase_add_test(tests, zip_that_is_compressed_or_lies);
    tcase_add_test(tests, what_is_no_torch_file);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
