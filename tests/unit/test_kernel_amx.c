/* SPDX-License-Identifier: MIT
 *
 * test_kernel_amx.c: the AMX table's own code on tiles emulated in C, so that its
 * arithmetic, its shapes and its bounds are tested where no processor has tiles. It needs
 * AVX-512 for the rest of the table and is compiled for it; without it there is nothing
 * to run. */
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/cpu.h"
#include "kernel_cases.h"

#include <check.h>

#if defined(__x86_64__)

static struct {
    int configured; /* between loadconfig and release */
    unsigned char config[64];
    struct {
        unsigned char bytes[16][64];
    } tile[8];
} unit;

static size_t tile_rows(int t) {
    return unit.config[48 + t];
}
static size_t tile_columns(int t) {
    return load_u16(unit.config + 16 + 2 * t);
}

static void emulated_config(const void *config) {
    memcpy(unit.config, config, 64);
    ck_assert_int_eq(unit.config[0], 1);
    for (int t = 0; t < 8; t++)
        ck_assert(tile_rows(t) <= 16 && tile_columns(t) <= 64);
    memset(unit.tile, 0, sizeof unit.tile);
    unit.configured = 1;
}

static void emulated_release(void) {
    ck_assert(unit.configured);
    unit.configured = 0;
}

static void emulated_load(int t, const void *base, size_t stride) {
    ck_assert(unit.configured);
    for (size_t r = 0; r < tile_rows(t); r++)
        memcpy(unit.tile[t].bytes[r], (const char *)base + r * stride, tile_columns(t));
}

static void emulated_store(int t, void *base, size_t stride) {
    ck_assert(unit.configured);
    for (size_t r = 0; r < tile_rows(t); r++)
        memcpy((char *)base + r * stride, unit.tile[t].bytes[r], tile_columns(t));
}

/* c (m, n) of 32 bits += a (m, 4 k) u8 · b (k, n, 4) s8 */
static void emulated_dot(int c, int a, int b) {
    ck_assert(unit.configured);
    ck_assert_uint_eq(tile_rows(c), tile_rows(a));
    ck_assert_uint_eq(tile_columns(a), tile_rows(b) * 4);
    ck_assert_uint_eq(tile_columns(c), tile_columns(b));
    for (size_t m = 0; m < tile_rows(c); m++)
        for (size_t n = 0; n < tile_columns(c) / 4; n++) {
            uint32_t sum = load_u32(&unit.tile[c].bytes[m][n * 4]);
            for (size_t k = 0; k < tile_rows(b) * 4; k++)
                sum += (uint32_t)(unit.tile[a].bytes[m][k] *
                                  (int8_t)unit.tile[b].bytes[k / 4][n * 4 + k % 4]);
            memcpy(&unit.tile[c].bytes[m][n * 4], &sum, 4);
        }
}

static void emulated_zero(int t) {
    memset(&unit.tile[t], 0, sizeof unit.tile[t]);
}

#undef _tile_loadconfig
#undef _tile_release
#undef _tile_loadd
#undef _tile_stored
#undef _tile_dpbusd
#undef _tile_zero
#define _tile_loadconfig(config) emulated_config(config)
#define _tile_release() emulated_release()
#define _tile_loadd(tile, base, stride) emulated_load(tile, base, stride)
#define _tile_stored(tile, base, stride) emulated_store(tile, base, stride)
#define _tile_dpbusd(c, a, b) emulated_dot(c, a, b)
#define _tile_zero(tile) emulated_zero(tile)

/* The table under test, beside the one that the library holds. */
#define kernel_amx emulated_table
#define amx_linear_int8 emulated_linear_int8
void emulated_linear_int8(const struct linear_job *job, size_t begin, size_t end);
#include "kernel/amx.c"

START_TEST(test_emulated_tiles) {
    struct record reference = {0}, record = {0};
    cases_record(&reference, &kernel_reference);
    cases_record(&record, &emulated_table);
    const char *difference = record_difference(&reference, &record);
    ck_assert_msg(!difference, "%s", difference ? difference : "");
    ck_assert_int_eq(record.alone, 0);
    ck_assert_int_eq(unit.configured, 0);
    record_release(&reference);
    record_release(&record);
}
END_TEST

#endif

int main(void) {
    if (!cpu_features()->avx512)
        return 0;
    Suite *suite = suite_create("kernel_amx");
    TCase *tests = tcase_create("kernel_amx");
    tcase_set_timeout(tests, 300);
#if defined(__x86_64__)
    tcase_add_test(tests, test_emulated_tiles);
#endif
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
