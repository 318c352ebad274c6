/* SPDX-License-Identifier: MIT
 *
 * test_checksum.c: the published vectors, and equal answers however the bytes come and
 * whatever the processor has. */
#include "base/cpu.h"
#include "model/checksum.h"
#include "model/sha256_blocks.h"

#include <check.h>
#include <string.h>

static void sha_of(const void *bytes, size_t size, size_t times, char text[SHA256_TEXT]) {
    struct sha256 sha;
    sha256_init(&sha);
    for (size_t i = 0; i < times; i++)
        sha256_add(&sha, bytes, size);
    sha256_text(&sha, text);
}

START_TEST(sha256_vectors) { /* of FIPS 180 and its validation programme */
    static const char long_text[] =
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    const struct {
        const char *bytes;
        size_t times;
        const char *sum;
    } vectors[] = {
        {"", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {long_text, 1,
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"aaaaaaaaaa", 100000,
         "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        char text[SHA256_TEXT];
        sha_of(vectors[i].bytes, strlen(vectors[i].bytes), vectors[i].times, text);
        ck_assert_str_eq(text, vectors[i].sum);
    }
}
END_TEST

static void fill(unsigned char *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(i * 167 + (i >> 5));
}

START_TEST(parts_do_not_matter) {
    unsigned char bytes[300];
    fill(bytes, sizeof bytes);
    for (size_t size = 0; size <= sizeof bytes; size++) {
        char whole[SHA256_TEXT], parts[SHA256_TEXT];
        size_t cut = size * 5 % (size + 1), rest = size - cut;
        struct sha256 sha;
        sha_of(bytes, size, 1, whole);
        sha256_init(&sha);
        sha256_add(&sha, bytes, cut);
        sha256_add(&sha, bytes + cut, rest / 2);
        sha256_add(&sha, bytes + cut + rest / 2, rest - rest / 2);
        sha256_text(&sha, parts);
        ck_assert_str_eq(whole, parts);
        ck_assert_uint_eq(crc32c(0, bytes, size),
                          crc32c(crc32c(0, bytes, cut), bytes + cut, rest));
    }
}
END_TEST

#if defined(__x86_64__)
START_TEST(processor_agrees_with_c) {
    unsigned char bytes[64 * 5];
    uint32_t in_c[8] = {1, 2, 3, 4, 5, 6, 7, 0xffffffff}, by_processor[8];
    fill(bytes, sizeof bytes);
    memcpy(by_processor, in_c, sizeof in_c);
    if (!cpu_features()->sha)
        return;
    sha256_blocks_portable(in_c, bytes, 5);
    sha256_blocks_x86(by_processor, bytes, 5);
    ck_assert_mem_eq(in_c, by_processor, sizeof in_c);
}
END_TEST
#endif

START_TEST(crc32c_vectors) { /* RFC 3720, appendix B.4 */
    unsigned char bytes[8192] = {0};
    ck_assert_uint_eq(crc32c(0, bytes, 32), 0x8a9136aa);
    memset(bytes, 0xff, 32);
    ck_assert_uint_eq(crc32c(0, bytes, 32), 0x62a8ab43);
    for (int i = 0; i < 32; i++)
        bytes[i] = (unsigned char)i;
    ck_assert_uint_eq(crc32c(0, bytes, 32), 0x46dd794e);
    ck_assert_uint_eq(crc32c(0, "123456789", 9), 0xe3069283);
    uint32_t in_parts = 0; /* of a size that takes other loops than the whole */
    fill(bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i += 64)
        in_parts = crc32c(in_parts, bytes + i, 64);
    ck_assert_uint_eq(crc32c(0, bytes, sizeof bytes), in_parts);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("checksum");
    TCase *tests = tcase_create("checksum");
    tcase_add_test(tests, sha256_vectors);
    tcase_add_test(tests, parts_do_not_matter);
#if defined(__x86_64__)
    tcase_add_test(tests, processor_agrees_with_c);
#endif
    tcase_add_test(tests, crc32c_vectors);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
