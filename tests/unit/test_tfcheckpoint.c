/* SPDX-License-Identifier: MIT
 *
 * test_tfcheckpoint.c: TensorFlow checkpoints that are damaged, or packed as we cannot
 * read. (That a good one has the weights is a matter of test_loader.c.) */
#include "model/checksum.h"
#include "model/tfcheckpoint.h"
#include "scratch.h"

#include <check.h>

#define TINY "tests/golden/tiny/tf/"

static const char index_name[] = "bert_model.ckpt.index",
                  data_name[] = "bert_model.ckpt.data-00000-of-00001";

static enum bert_status open_scratch(struct bert_error *error) {
    struct checkpoint checkpoint;
    char *path = scratch_path("bert_model.ckpt");
    enum bert_status status = checkpoint_open(&checkpoint, path, false, error);
    checkpoint_close(&checkpoint);
    free(path);
    return status;
}

static void refused(const char *name, const struct buffer *bytes, size_t size,
                    const char *why) {
    struct bert_error error = {0};
    scratch_write(name, bytes->data, size);
    ck_assert_int_eq(open_scratch(&error), BERT_MODEL);
    ck_assert_msg(strstr(error.message, why) != NULL, "'%s' lacks '%s'", error.message,
                  why);
}

/* The end of the first block: before its type and checksum. */
static size_t first_block_end(const struct buffer *index) {
    for (size_t end = 1; end + 5 < index->size; end++) {
        uint32_t crc = crc32c(0, index->data, end + 1);
        if (load_u32(index->data + end + 1) == (crc >> 15 | crc << 17) + 0xa282ead8u)
            return end;
    }
    ck_abort_msg("no block in the index");
    return 0;
}

START_TEST(damaged_files) {
    scratch_begin();
    scratch_copy(TINY "bert_model.ckpt.data-00000-of-00001", data_name);
    struct buffer index = scratch_read(TINY "bert_model.ckpt.index");
    size_t end = first_block_end(&index);
    index.data[end] = 1; /* the type */
    refused(index_name, &index, index.size, "compressed with snappy");
    index.data[end] = 0;
    index.data[end / 2] ^= 4;
    refused(index_name, &index, index.size, "the checksum of a block is wrong");
    index.data[end / 2] ^= 4;
    refused(index_name, &index, index.size - 1, "truncated");
    refused(index_name, &index, 0, "truncated");
    scratch_write(index_name, index.data, index.size);
    ck_assert_int_eq(open_scratch(NULL), BERT_OK);
    struct buffer data = scratch_read(TINY "bert_model.ckpt.data-00000-of-00001");
    refused(data_name, &data, data.size / 2, "lies outside its data file");
    buffer_release(&data);
    buffer_release(&index);
    scratch_end();
}
END_TEST

int main(void) {
    Suite *suite = suite_create("tfcheckpoint");
    TCase *tests = tcase_create("tfcheckpoint");
    tcase_add_test(tests, damaged_files);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
