/* SPDX-License-Identifier: MIT
 *
 * test_safetensors.c: files that lie, each refused with a message that says how. */
#include "model/safetensors.h"

#include "scratch.h"

#include <check.h>

/* A file of this header text, with its true length, and so many bytes of data. */
static void write_file(const char *header, size_t data) {
    struct buffer bytes = {0};
    uint64_t length = strlen(header);
    for (int i = 0; i < 8; i++)
        buffer_add_byte(&bytes, (char)(length >> (8 * i)));
    buffer_add_text(&bytes, header);
    for (size_t i = 0; i < data; i++)
        buffer_add_byte(&bytes, (char)i);
    scratch_write("x.safetensors", bytes.data, bytes.size);
    buffer_release(&bytes);
}

static enum bert_status open_file(struct checkpoint *checkpoint,
                                  struct bert_error *error) {
    char *path = scratch_path("x.safetensors");
    enum bert_status status = checkpoint_open(checkpoint, path, false, error);
    free(path);
    return status;
}

static void refused(const char *part) {
    struct checkpoint checkpoint;
    struct bert_error error = {0};
    ck_assert_int_eq(open_file(&checkpoint, &error), BERT_MODEL);
    ck_assert_msg(strstr(error.message, part) != NULL, "'%s' lacks '%s'", error.message,
                  part);
}

#define F32(shape, begin, end) \
    "{\"dtype\":\"F32\",\"shape\":[" shape "],\"data_offsets\":[" begin "," end "]}"

static const struct {
    const char *header;
    size_t data;
    const char *why;
} lies[] = {
    /* C10 */
    {"{\"a\":" F32("2,2", "0", "16") "}", 14, "truncated"},
    {"{\"a\":" F32("2,2", "0", "16") "}", 50, "too long"},
    /* C12 */
    {"{\"a\":" F32("1", "0", "4") ",\"b\":" F32("1", "0", "4") "}", 4, "overlap"},
    {"{\"a\":" F32("1", "0", "4") ",\"b\":" F32("1", "8", "12") "}", 12, "hole"},
    {"{\"a\":" F32("1000,1000", "0", "4") "}", 4, "does not match"},
    {"{\"a\":" F32("2,18446744073709551614", "0", "4") "}", 4, "bad shape"},
    {"{\"a\":" F32("4294967296,4294967296", "0", "4") "}", 4, "overflows"},
    {"{\"a\":" F32("4611686018427387904", "0", "4") "}", 4, "overflows"},
    {"{\"a\":" F32("1", "0", "9223372036854775807") "}", 4, "does not match"},
    {"{\"a\":" F32("1", "9223372036854775803", "9223372036854775807") "}", 4,
     "truncated"},
    {"{\"a\":" F32("1", "4", "0") "}", 4, "bad offsets"},
    {"{\"a\":" F32("1", "-4", "0") "}", 4, "bad offsets"},
    {"{\"a\":" F32("-1", "0", "4") "}", 4, "bad shape"},
    {"{\"a\":" F32("1.0", "0", "4") "}", 4, "bad shape"},
    {"{\"a\":" F32("1,1,1,1,1,1,1,1,1", "0", "4") "}", 4, "dimensions"},
    {"{\"a\":" F32("1", "0", "4") ",\"a\":" F32("1", "4", "8") "}", 8, "duplicate"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "missing"},
    {"{\"a\":4}", 4, "missing"},
    {"{\"a\":", 4, "header"},
    {"[]", 4, "no safetensors"},
    {"", 4, "no safetensors"},
    /* Two names of one part */
    {"{\"bert.embeddings.LayerNorm.gamma\":" F32(
         "1", "0", "4") ",\"embeddings.LayerNorm.weight\":" F32("1", "4", "8") "}",
     8, "same tensor"},
};

START_TEST(lie_is_refused) {
    scratch_begin();
    write_file(lies[_i].header, lies[_i].data);
    refused(lies[_i].why);
    scratch_end();
}
END_TEST

/* C09 */
static const struct {
    uint64_t length;
    size_t size; /* of the whole file */
    const char *why;
} lengths[] = {
    {100000001, 64, "at most"},  {UINT64_C(1) << 63, 64, "at most"},
    {UINT64_MAX, 64, "at most"}, {1000, 64, "truncated"},
    {57, 64, "truncated"},       {2, 7, "only 7 bytes"},
    {2, 0, "only 0 bytes"},
};

START_TEST(c09_header_length) {
    scratch_begin();
    unsigned char bytes[64] = {0};
    memset(bytes + 8, '{', sizeof bytes - 8);
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(lengths[_i].length >> (8 * i));
    scratch_write("x.safetensors", bytes, lengths[_i].size);
    refused(lengths[_i].why);
    scratch_end();
}
END_TEST

START_TEST(c14_element_types) {
    static const char header[] =
        "{\"__metadata__\":{\"format\":\"pt\"},"
        "\"b\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[0,4]},"
        "\"h\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[4,8]},"
        "\"d\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[8,16]}}";
    static const unsigned char data[] = {0x80, 0x3f, 0x80, 0xbf, 0x00, 0x3c, 0x01, 0x00,
                                         0,    0,    0,    0,    0,    0,    4,    0x40};
    struct buffer bytes = {0};
    scratch_begin();
    write_file(header, 0);
    char *path = scratch_path("x.safetensors");
    bytes = scratch_read(path);
    buffer_add(&bytes, data, sizeof data);
    scratch_write("x.safetensors", bytes.data, bytes.size);
    buffer_release(&bytes);
    free(path);

    struct checkpoint checkpoint;
    ck_assert_int_eq(open_file(&checkpoint, NULL), BERT_OK);
    ck_assert_uint_eq(checkpoint.count, 3);
    static const float want[3][2] = {{1, -1}, {1, 0x1p-24f}, {2.5f, 0}};
    for (size_t i = 0; i < 3; i++) {
        float row[2] = {0};
        ck_assert(tensor_is_float(&checkpoint.tensors[i]));
        tensor_row(&checkpoint.tensors[i], 0, row);
        ck_assert(row[0] == want[i][0] && row[1] == want[i][1]);
    }
    checkpoint_close(&checkpoint);
    scratch_end();
}
END_TEST

START_TEST(empty_tensors_and_unknown_types_are_kept_out_of_the_way) {
    scratch_begin();
    write_file(
        "{\"e\":" F32("0,7", "0", "0") ",\"a\":" F32(
            "", "0",
            "4") ",\"x\":{\"dtype\":\"F8_E5M2\",\"shape\":[3],\"data_offsets\":[4,7]}}",
        7);
    struct checkpoint checkpoint;
    ck_assert_int_eq(open_file(&checkpoint, NULL), BERT_OK);
    ck_assert_uint_eq(checkpoint.count, 3);
    ck_assert_int_eq(checkpoint.tensors[2].element, ELEMENT_OTHER);
    checkpoint_close(&checkpoint);
    scratch_end();
}
END_TEST

static const struct {
    const char *index, *why;
} indexes[] = {
    {"{\"weight_map\":{\"a\":\"../x.safetensors\"}}", "bad file name"},
    {"{\"weight_map\":{\"a\":\"/etc/passwd\"}}", "bad file name"},
    {"{\"weight_map\":{\"a\":7}}", "bad file name"},
    {"{\"weight_map\":{}}", "no weight_map"},
    {"{}", "no weight_map"},
    {"{", "line 1"},
    {"{\"weight_map\":{\"a\":\"gone.safetensors\"}}", "gone.safetensors"},
};

START_TEST(index_of_shards) {
    scratch_begin();
    scratch_write_text("model.safetensors.index.json", indexes[_i].index);
    struct checkpoint checkpoint;
    struct bert_error error = {0};
    ck_assert_int_eq(checkpoint_open(&checkpoint, scratch, false, &error), BERT_MODEL);
    ck_assert_msg(strstr(error.message, indexes[_i].why) != NULL, "%s", error.message);
    scratch_end();
}
END_TEST

static const struct {
    const char *name;
    int layer;
    enum part part;
    bool transposed;
} spellings[] = {
    {"bert.embeddings.word_embeddings.weight", -1, PART_WORD, false},
    {"embeddings.word_embeddings.weight", -1, PART_WORD, false},
    {"module.bert.embeddings.word_embeddings.weight", -1, PART_WORD, false},
    {"module.embeddings.LayerNorm.beta", -1, PART_EMBEDDING_NORM_BIAS, false},
    {"encoder.layer.11.output.LayerNorm.gamma", 11, PART_OUTPUT_NORM_WEIGHT, false},
    {"bert.encoder.layer.0.output.dense.bias", 0, PART_DOWN_BIAS, false},
    {"bert/encoder/layer_3/attention/self/key/kernel", 3, PART_KEY_WEIGHT, true},
    {"bert/embeddings/LayerNorm/gamma", -1, PART_EMBEDDING_NORM_WEIGHT, false},
    {"bert/embeddings/token_type_embeddings", -1, PART_TYPE, false},
    {"cls/predictions/output_bias", -1, PART_HEAD_BIAS, false},
    {"cls.predictions.decoder.weight", -1, PART_DECODER_WEIGHT, false},
};

START_TEST(c01_c04_spellings) {
    struct slot slot = {0};
    bool transposed;
    ck_assert(names_find(spellings[_i].name, &slot, &transposed));
    ck_assert_int_eq(slot.layer, spellings[_i].layer);
    ck_assert_int_eq(slot.part, spellings[_i].part);
    ck_assert_int_eq(transposed, spellings[_i].transposed);
}
END_TEST

static const char *const no_parts[] = {
    "bert.embeddings.position_ids", /* C05 */
    "bert.pooler.dense.weight",     /* C06 */
    "cls.seq_relationship.bias",
    "cls/seq_relationship/output_bias",
    "global_step", /* C22 */
    "bert/encoder/layer_0/attention/self/key/kernel/adam_m",
    "bert/embeddings/word_embeddings/BERTAdam",
    "bert.encoder.layer.01.output.dense.bias",
    "bert.encoder.layer.-1.output.dense.bias",
    "bert.encoder.layer.99999999999999999999.output.dense.bias",
    "bert.encoder.layer..output.dense.bias",
    "bert.encoder.layer.",
    "my_LayerNorm.gamma",
    "bert.embeddings.word_embeddings.gamma",
    "",
};

START_TEST(c05_c06_c22_what_is_left_out) {
    struct slot slot;
    bool transposed;
    ck_assert_msg(!names_find(no_parts[_i], &slot, &transposed), "%s", no_parts[_i]);
}
END_TEST

#define LOOP(tcase, test, array) \
    tcase_add_loop_test(tcase, test, 0, sizeof(array) / sizeof *(array))

int main(void) {
    Suite *suite = suite_create("safetensors");
    TCase *tests = tcase_create("safetensors");
    LOOP(tests, lie_is_refused, lies);
    LOOP(tests, c09_header_length, lengths);
    tcase_add_test(tests, c14_element_types);
    tcase_add_test(tests, empty_tensors_and_unknown_types_are_kept_out_of_the_way);
    LOOP(tests, index_of_shards, indexes);
    LOOP(tests, c01_c04_spellings, spellings);
    LOOP(tests, c05_c06_c22_what_is_left_out, no_parts);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
