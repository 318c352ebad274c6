/* SPDX-License-Identifier: MIT
 *
 * test_base.c: the ground layer: messages, UTF-8, arenas, buffers, float formats, quotas,
 * the search for models, and mapped files that shrink while in use. */
#include "base/arena.h"
#include "base/bytes.h"
#include "base/cpu.h"
#include "base/mapping.h"
#include "base/path.h"
#include "base/utf8.h"

#include <check.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- A folder of its own for each test ---- */

static char folder[64];

static void make_folder(void) {
    snprintf(folder, sizeof folder, "/tmp/test-base-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void) {
    pid_t child = fork();
    if (child == 0) {
        execlp("rm", "rm", "-rf", folder, (char *)NULL);
        _exit(127);
    }
    waitpid(child, NULL, 0);
}

/* FOLDER/name, in one of a few buffers that take turns. */
static const char *in_folder(const char *name) {
    static char paths[8][200];
    static int turn;
    char *path = paths[turn++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static const char *write_file(const char *name, const char *text) {
    const char *path = in_folder(name);
    for (char *slash = strchr(path + strlen(folder) + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
    return path;
}

/* ---- Messages ---- */

START_TEST(messages_are_safe) {
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"plain 中文.csv", "plain 中文.csv"},
        {"a\nb\tc", "a\\x0Ab\\x09c"},
        {"\x1b[31m", "\\x1B[31m"},
        {"\x7f", "\\x7F"},
        {"\xc2\x9b", "\\xC2\\x9B"},          /* CSI as one C1 character */
        {"\xe2\x80\xa8", "\\xE2\\x80\\xA8"}, /* line separator */
        {"\xff\xe4\xb8", "\\xFF\\xE4\\xB8"}, /* not UTF-8 */
        {"back\\slash", "back\\slash"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bert_error error;
        ck_assert_int_eq(error_set(&error, BERT_IO, "%s", cases[i].text), BERT_IO);
        ck_assert_int_eq(error.status, BERT_IO);
        ck_assert_str_eq(error.message, cases[i].message);
    }
    ck_assert_int_eq(error_set(NULL, BERT_MODEL, "x"), BERT_MODEL);
}
END_TEST

START_TEST(messages_wrap_their_own) {
    struct bert_error error;
    error_set(&error, BERT_IO, "no space");
    error_set(&error, BERT_IO, "out.csv: %s", error.message);
    ck_assert_str_eq(error.message, "out.csv: no space");
}
END_TEST

START_TEST(long_messages_end_at_a_character) {
    struct bert_error error;
    for (size_t lead = 0; lead < 4; lead++) {
        char text[2000] = "aaaa";
        for (size_t at = lead; at + 3 < sizeof text; at += 3)
            memcpy(text + at, "中", 4);
        error_set(&error, BERT_IO, "%s", text);
        size_t size = strlen(error.message);
        ck_assert_uint_ge(size, sizeof error.message - 4);
        ck_assert_uint_eq(utf8_valid_prefix(error.message, size), size);
        ck_assert_ptr_null(strchr(error.message, '\\'));
    }
}
END_TEST

/* ---- UTF-8 ---- */

START_TEST(utf8_round_trips_every_scalar) {
    for (uint32_t codepoint = 0; codepoint <= 0x10ffff; codepoint++) {
        if (codepoint == 0xd800)
            codepoint = 0xe000;
        char text[4];
        uint32_t back = ~codepoint;
        size_t bad, length = utf8_encode(codepoint, text);
        if (utf8_decode(text, length, &back, &bad) != length || back != codepoint)
            ck_abort_msg("U+%04X does not come back", (unsigned)codepoint);
        for (size_t cut = 1; cut < length; cut++)
            if (utf8_decode(text, cut, &back, &bad) != 0 || bad != cut)
                ck_abort_msg("U+%04X cut to %zu bytes is taken", (unsigned)codepoint,
                             cut);
    }
}
END_TEST

START_TEST(utf8_refuses_what_is_malformed) {
    static const struct {
        const char *text;
        size_t bad; /* the maximal part of a subsequence, as the standard cuts it */
    } cases[] = {
        {"\x80", 1},
        {"\xc0\x80", 1},
        {"\xc1\xbf", 1},
        {"\xe0\x80\x80", 1},
        {"\xe0\x9f\xbf", 1},
        {"\xed\xa0\x80", 1},
        {"\xed\xbf\xbf", 1},
        {"\xf0\x8f\xbf\xbf", 1},
        {"\xf4\x90\x80\x80", 1},
        {"\xf5\x80", 1},
        {"\xff", 1},
        {"\xe4\xb8\x41", 2},
        {"\xf0\x9f\x92", 3},
        {"\xf0\x9f\x41", 2},
        {"\xc3\x28", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t codepoint;
        size_t bad = 0;
        ck_assert_uint_eq(
            utf8_decode(cases[i].text, strlen(cases[i].text), &codepoint, &bad), 0);
        ck_assert_uint_eq(bad, cases[i].bad);
    }
}
END_TEST

START_TEST(utf8_prefix_finds_the_first_bad_byte) {
    char text[64];
    for (size_t at = 0; at < sizeof text; at++) {
        memset(text, 'a', sizeof text);
        text[at] = '\xa0';
        ck_assert_uint_eq(utf8_valid_prefix(text, sizeof text), at);
    }
    ck_assert_uint_eq(utf8_valid_prefix("中\0国", 7), 7); /* NUL is a character */
    ck_assert_uint_eq(utf8_valid_prefix("", 0), 0);
    ck_assert_uint_eq(utf8_count("中a\0é😀", 3 + 1 + 1 + 2 + 4), 5);
}
END_TEST

/* ---- Memory ---- */

START_TEST(arena_hands_out_apart_and_aligned) {
    struct arena arena;
    unsigned char *parts[300];
    arena_init(&arena);
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < 300; i++) {
            size_t size = i * i % 5000 + (i == 250 ? 3 << 20 : 0);
            parts[i] = arena_alloc(&arena, size);
            ck_assert_ptr_nonnull(parts[i]);
            ck_assert_uint_eq((uintptr_t)parts[i] % 16, 0);
            memset(parts[i], (int)i, size);
        }
        for (size_t i = 0; i < 300; i++)
            for (size_t k = 0; k < i * i % 5000; k++)
                ck_assert_uint_eq(parts[i][k], (unsigned char)i);
        arena_reset(&arena);
    }
    arena_release(&arena);
}
END_TEST

START_TEST(arena_checks_sizes) {
    struct arena arena;
    arena_init(&arena);
    ck_assert_ptr_null(arena_alloc(&arena, SIZE_MAX));
    ck_assert_ptr_null(arena_alloc(&arena, SIZE_MAX - 20));
    ck_assert_ptr_null(arena_array(&arena, SIZE_MAX / 2, 3));
    ck_assert_ptr_null(arena_text(&arena, "x", SIZE_MAX));
    int *zeros = arena_array(&arena, 1000, sizeof *zeros);
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(zeros[i], 0);
    ck_assert_str_eq(arena_text(&arena, "中国", 3), "中");
    ck_assert_str_eq(arena_text(&arena, NULL, 0), "");
    arena_release(&arena);
}
END_TEST

/* An address sanitizer keeps freed memory for a while, on purpose. */
#if defined(__SANITIZE_ADDRESS__)
#define FREES_AT_ONCE 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FREES_AT_ONCE 0
#endif
#endif
#ifndef FREES_AT_ONCE
#define FREES_AT_ONCE 1
#endif

static long resident_kilobytes(void) {
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    char line[200] = "";
    if (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char *end;
        pages = strtol(line, &end, 10);
        resident = strtol(end, NULL, 10);
    }
    if (file != NULL)
        fclose(file);
    return pages > 0 ? resident * sysconf(_SC_PAGESIZE) / 1024 : 0;
}

START_TEST(arena_gives_back_what_was_huge) {
    enum { HUGE_ONE = 200 << 20 };
    struct arena arena;
    arena_init(&arena);
    ck_assert_ptr_nonnull(arena_alloc(&arena, 100));
    char *huge = arena_alloc(&arena, HUGE_ONE);
    ck_assert_ptr_nonnull(huge);
    memset(huge, 1, HUGE_ONE);
    long full = resident_kilobytes();
    arena_reset(&arena);
    if (FREES_AT_ONCE)
        ck_assert_int_lt(resident_kilobytes(), full - (150 << 10));
    ck_assert_int_gt(full, 0);
    arena_release(&arena);
}
END_TEST

START_TEST(buffer_grows_and_fails_once) {
    struct buffer buffer = {0};
    for (int i = 0; i < 1000; i++) {
        buffer_add(&buffer, "中", 3);
        buffer_add_byte(&buffer, '\0');
        buffer_add_text(&buffer, "ab");
        buffer_printf(&buffer, "%03d", i);
    }
    ck_assert_uint_eq(buffer.size, 9000);
    ck_assert_mem_eq(buffer_text(&buffer) + 8991, "中\0ab999", 10);
    ck_assert_uint_eq(buffer.size, 9000);
    ck_assert(!buffer_reserve(&buffer, SIZE_MAX));
    ck_assert(buffer.failed);
    ck_assert_ptr_null(buffer_text(&buffer));
    ck_assert(!buffer_reserve(&buffer, 1)); /* sticky */
    buffer_release(&buffer);
    ck_assert_str_eq(buffer_text(&buffer), "");
    buffer_release(&buffer);
}
END_TEST

/* ---- Numbers ---- */

START_TEST(loads_are_little_endian) {
    const unsigned char bytes[] = {0xff, 1, 2, 3, 4, 5, 6, 7, 0x88};
    ck_assert_uint_eq(load_u16(bytes + 1), 0x0201);
    ck_assert_uint_eq(load_u32(bytes + 1), 0x04030201);
    ck_assert_uint_eq(load_u64(bytes + 1), 0x8807060504030201);
}
END_TEST

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* By definition: sign, 2^(e-15) * 1.m, or 2^-14 * 0.m. */
static float half_by_definition(uint16_t half) {
    int exponent = half >> 10 & 0x1f;
    float mantissa = (float)(half & 0x3ff) / 1024, value;
    if (exponent == 31)
        value = (half & 0x3ff) ? NAN : INFINITY;
    else
        value = exponent ? ldexpf(1 + mantissa, exponent - 15) : ldexpf(mantissa, -14);
    return half & 0x8000 ? -value : value;
}

START_TEST(half_is_exact_both_ways) {
    for (uint32_t half = 0; half <= 0xffff; half++) {
        float expected = half_by_definition((uint16_t)half);
        float value = half_to_float((uint16_t)half);
        if (isnan(expected)) {
            if (!isnan(value) || !isnan(half_to_float(float_to_half(value))))
                ck_abort_msg("%04x is no NaN", (unsigned)half);
        } else if (bits_of(value) != bits_of(expected) || float_to_half(value) != half)
            ck_abort_msg("%04x reads %a, expected %a", (unsigned)half, value, expected);
    }
}
END_TEST

START_TEST(half_rounds_to_nearest_even) {
    for (uint32_t half = 0; half < 0x7c00; half++) {
        float low = half_to_float((uint16_t)half);
        float high = half + 1 < 0x7c00 ? half_to_float((uint16_t)(half + 1)) : 65536;
        float middle = (low + high) / 2; /* exact: one bit more than a half has */
        uint16_t even = (uint16_t)(half + (half & 1));
        ck_assert_uint_eq(float_to_half(middle), even);
        ck_assert_uint_eq(float_to_half(nextafterf(middle, 0)), half);
        ck_assert_uint_eq(float_to_half(nextafterf(middle, INFINITY)), half + 1);
        ck_assert_uint_eq(float_to_half(-middle), even | 0x8000u);
    }
    ck_assert_uint_eq(float_to_half(1e30f), 0x7c00);
    ck_assert_uint_eq(float_to_half(-INFINITY), 0xfc00);
    ck_assert_uint_eq(float_to_half(1e-30f), 0);
    ck_assert_uint_eq(float_to_half(-0.0f), 0x8000);
    ck_assert(bits_of(bfloat_to_float(0x3f80)) == bits_of(1.0f));
    ck_assert(bits_of(bfloat_to_float(0x0001)) == 0x00010000); /* a denormal stays */
}
END_TEST

START_TEST(hashes_part_what_differs) {
    const char text[] = "北京是中国的首都。北京是中国的首都。";
    uint64_t whole = hash_bytes(HASH_SEED, text, sizeof text);
    for (size_t i = 0; i < sizeof text; i++) {
        char other[sizeof text];
        memcpy(other, text, sizeof text);
        other[i] ^= 1;
        ck_assert_uint_ne(hash_bytes(HASH_SEED, other, sizeof text), whole);
        ck_assert_uint_ne(hash_bytes(HASH_SEED, text, i), whole);
    }
    uint64_t ab_c = hash_bytes(hash_bytes(HASH_SEED, "ab", 2), "c", 1);
    uint64_t a_bc = hash_bytes(hash_bytes(HASH_SEED, "a", 1), "bc", 2);
    ck_assert_uint_ne(ab_c, a_bc);
    ck_assert_uint_eq(hash_bytes(HASH_SEED, text, 20), hash_bytes(HASH_SEED, text, 20));
}
END_TEST

/* ---- The processor and its quotas ---- */

START_TEST(features_imply_each_other) {
    const struct cpu_features *features = cpu_features();
    ck_assert(!features->avx512vnni || features->avx512);
    ck_assert(!features->avx512 || features->avx2);
    ck_assert(!features->avxvnni || features->avx2);
    ck_assert(!features->amx_int8 || features->avx512vnni);
    ck_assert(!features->neon_dot || features->neon);
    ck_assert_uint_ge(features->l2_bytes, 64 << 10);
#if defined(__x86_64__)
    __builtin_cpu_init();
    ck_assert_int_eq(features->avx2, __builtin_cpu_supports("avx2") != 0);
    ck_assert_int_eq(features->avx512, __builtin_cpu_supports("avx512bw") &&
                                           __builtin_cpu_supports("avx512vl"));
    ck_assert_int_eq(features->avx512vnni, __builtin_cpu_supports("avx512vnni") != 0);
#endif
}
END_TEST

START_TEST(affinity_limits_cores) {
    ck_assert_int_ge(cpu_usable_cores(), 1);
    cpu_set_t old, one;
    ck_assert_int_eq(sched_getaffinity(0, sizeof old, &old), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &old))
            CPU_SET(i, &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
    ck_assert_int_eq(cpu_usable_cores(), 1);
    sched_setaffinity(0, sizeof old, &old);
}
END_TEST

START_TEST(quota_of_version_2) {
    const char *groups = write_file("cgroup", "0::/user/app\n");
    ck_assert_double_eq(cpu_cgroup_quota(groups, folder), 0); /* no files at all */
    write_file("user/app/cpu.max", "max 100000\n");
    ck_assert_double_eq(cpu_cgroup_quota(groups, folder), 0);
    write_file("user/cpu.max", "250000 100000\n"); /* a group above limits too */
    ck_assert_double_eq(cpu_cgroup_quota(groups, folder), 2.5);
    write_file("user/app/cpu.max", "50000 100000\n");
    ck_assert_double_eq(cpu_cgroup_quota(groups, folder), 0.5);
    write_file("user/app/cpu.max", "nonsense\n");
    ck_assert_double_eq(cpu_cgroup_quota(groups, folder), 2.5);
}
END_TEST

START_TEST(quota_in_a_container) {
    /* The group's path belongs to the host; its files stand at the mount. */
    const char *groups = write_file("cgroup", "0::/docker/0123\n");
    write_file("cpu.max", "150000 100000\n");
    ck_assert_double_eq(cpu_cgroup_quota(groups, folder), 1.5);
}
END_TEST

START_TEST(quota_of_version_1) {
    const char *groups = write_file("cgroup", "5:cpuset:/a\n4:cpuacct,cpu:/a/b\n"
                                              "1:name=systemd:/c\n0::/\n");
    write_file("cpu/a/b/cpu.cfs_quota_us", "-1\n");
    write_file("cpu/a/b/cpu.cfs_period_us", "100000\n");
    ck_assert_double_eq(cpu_cgroup_quota(groups, folder), 0);
    write_file("cpu/a/b/cpu.cfs_quota_us", "300000\n");
    ck_assert_double_eq(cpu_cgroup_quota(groups, folder), 3);
    ck_assert_double_eq(cpu_cgroup_quota("/nowhere/cgroup", folder), 0);
}
END_TEST

/* ---- Paths and models ---- */

static void check_join(const char *base, const char *name, const char *joined) {
    char *path = path_join(base, name);
    ck_assert_str_eq(path, joined);
    free(path);
}

START_TEST(paths_join) {
    check_join("a", "b", "a/b");
    check_join("a/", "b", "a/b");
    check_join("", "b", "b");
    check_join("a", "/b", "/b");
    check_join("/", "b", "/b");
    ck_assert(path_exists("/dev/null"));
    ck_assert(!path_is_folder("/dev/null"));
    ck_assert(path_is_folder("/"));
    char *program = path_program_folder();
    ck_assert_int_eq(program[0], '/');
    ck_assert(path_is_folder(program));
    free(program);
}
END_TEST

static void check_found(const char *model, const char *expected) {
    struct bert_error error;
    char *found = NULL;
    if (path_find_model(&found, model, in_folder("prefix"), &error) != BERT_OK)
        ck_abort_msg("%s: %s", model, error.message);
    ck_assert_str_eq(found, in_folder(expected));
    free(found);
}

static void set_places(void) {
    static char dirs[300], system[300];
    snprintf(dirs, sizeof dirs, ":%s/dirs1:%s/dirs2", folder, folder);
    snprintf(system, sizeof system, "relative:%s/system", folder);
    setenv("BERT_MODEL_DIRS", dirs, 1);
    setenv("XDG_DATA_HOME", in_folder("user"), 1);
    setenv("XDG_DATA_DIRS", system, 1);
    setenv("HOME", in_folder("home"), 1);
}

/* From the last place to the first: each new one wins. */
START_TEST(names_are_searched_in_order) {
    static const char *const places[] = {
        "prefix/share/bert-tools/models/m.bert", "system/bert-tools/models/m.bert",
        "user/bert-tools/models/m.bert", "dirs2/m.bert", "dirs1/m.bert"};
    set_places();
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        write_file(places[i], "");
        check_found("m", places[i]);
    }
    write_file("dirs1/n/config.json", "{}"); /* a folder is a model, too */
    check_found("n", "dirs1/n");
    write_file("dirs1/n.bert", "");
    check_found("n", "dirs1/n.bert");
    unsetenv("XDG_DATA_HOME");
    write_file("home/.local/share/bert-tools/models/h.bert", "");
    check_found("h", "home/.local/share/bert-tools/models/h.bert");
}
END_TEST

START_TEST(paths_are_taken_as_they_are) {
    set_places();
    write_file("dirs1/x.bert", "");
    write_file("here.bert", "");
    struct bert_error error;
    char *found = NULL;
    /* With .bert it is a path, though such a name could be found. */
    ck_assert_int_eq(path_find_model(&found, "x.bert", NULL, &error), BERT_MODEL);
    ck_assert_ptr_null(found);
    ck_assert_ptr_nonnull(strstr(error.message, "bert-convert SRC -o x.bert"));
    check_found(in_folder("here.bert"), "here.bert");
    ck_assert_int_eq(path_find_model(&found, ".", NULL, &error), BERT_OK);
    ck_assert_str_eq(found, ".");
    free(found);
    ck_assert_int_eq(path_find_model(&found, "no/such", NULL, &error), BERT_MODEL);
    ck_assert_ptr_nonnull(strstr(error.message, "no/such.bert"));
}
END_TEST

START_TEST(a_missing_model_names_the_places) {
    set_places();
    struct bert_error error;
    char *found = NULL;
    ck_assert_int_eq(path_find_model(&found, "none", in_folder("prefix"), &error),
                     BERT_MODEL);
    ck_assert_ptr_nonnull(strstr(error.message, "no model 'none'"));
    ck_assert_ptr_nonnull(strstr(error.message, "bert-convert SRC"));
    ck_assert_ptr_nonnull(strstr(error.message, in_folder("dirs1")));
    ck_assert_ptr_nonnull(strstr(error.message, in_folder("dirs2")));
    ck_assert_ptr_nonnull(strstr(error.message, in_folder("user/bert-tools/models")));
    ck_assert_ptr_null(strstr(error.message, "relative"));
    /* A file or folder of that name right here is pointed out, not taken. */
    ck_assert_int_eq(path_find_model(&found, "tests", NULL, &error), BERT_MODEL);
    ck_assert_ptr_nonnull(strstr(error.message, "-m ./tests"));
}
END_TEST

/* ---- Whole files ---- */

START_TEST(files_open_mapped_and_read) {
    const char *path = write_file("file", "0123456789");
    for (int no_mmap = 0; no_mmap < 2; no_mmap++) {
        struct mapping mapping;
        struct bert_error error;
        ck_assert_int_eq(mapping_open(&mapping, path, no_mmap, &error), BERT_OK);
        ck_assert_int_eq(mapping.mapped, !no_mmap);
        ck_assert_uint_eq(mapping.size, 10);
        ck_assert_mem_eq(mapping.data, "0123456789", 10);
        ck_assert_uint_eq((uintptr_t)mapping.data % 64, 0);
        mapping_close(&mapping);
        ck_assert_ptr_null(mapping.data);
        mapping_close(&mapping);
    }
    struct mapping empty;
    ck_assert_int_eq(mapping_open(&empty, write_file("empty", ""), false, NULL), BERT_OK);
    ck_assert_uint_eq(empty.size, 0);
    ck_assert_ptr_nonnull(empty.data);
    mapping_close(&empty);
}
END_TEST

START_TEST(what_is_no_file_is_said) {
    struct mapping mapping;
    struct bert_error error;
    ck_assert_int_eq(mapping_open(&mapping, in_folder("no"), false, &error), BERT_MODEL);
    ck_assert_ptr_nonnull(strstr(error.message, "No such file"));
    ck_assert_int_eq(mapping_open(&mapping, folder, false, &error), BERT_MODEL);
    ck_assert_ptr_nonnull(strstr(error.message, "folder"));
    ck_assert_int_eq(mkfifo(in_folder("pipe"), 0600), 0);
    ck_assert_int_eq(mapping_open(&mapping, in_folder("pipe"), false, &error),
                     BERT_MODEL);
    ck_assert_ptr_nonnull(strstr(error.message, "not a regular file"));
    ck_assert_ptr_null(mapping.data);
    const char *locked = write_file("locked", "x");
    chmod(locked, 0);
    if (geteuid() != 0)
        ck_assert_int_eq(mapping_open(&mapping, locked, false, &error), BERT_IO);
}
END_TEST

/* Runs in a child: reads a mapping after its file shrank, or raises SIGBUS elsewhere. */
static int touch_in_child(bool own_mapping, char *said, size_t size) {
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    const char *path = write_file("shrinks", "");
    ck_assert_int_eq(truncate(path, 1 << 20), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        struct mapping mapping;
        mapping_guard("bert-test");
        if (mapping_open(&mapping, path, false, NULL) != BERT_OK)
            _exit(99);
        if (!own_mapping)
            raise(SIGBUS);
        if (truncate(path, 0) != 0)
            _exit(98);
        _exit(*(volatile const unsigned char *)(mapping.data + 500000));
    }
    close(ends[1]);
    size_t all = 0;
    for (ssize_t got; (got = read(ends[0], said + all, size - 1 - all)) > 0;)
        all += (size_t)got;
    said[all] = '\0';
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

START_TEST(a_file_that_shrinks_ends_in_a_line) {
    char said[500];
    int status = touch_in_child(true, said, sizeof said);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), BERT_MODEL);
    ck_assert_int_eq(strncmp(said, "bert-test: /tmp/test-base-", 26), 0);
    ck_assert_ptr_nonnull(strstr(said, "/shrinks: "));
    ck_assert_int_eq(said[strlen(said) - 1], '\n');
}
END_TEST

START_TEST(other_bus_errors_stay_fatal) {
    char said[500];
    int status = touch_in_child(false, said, sizeof said);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), SIGBUS);
    ck_assert_str_eq(said, "");
}
END_TEST

static void add(Suite *suite, const char *name, bool with_folder,
                const TTest *const *tests) {
    TCase *tcase = tcase_create(name);
    tcase_set_timeout(tcase, 60);
    if (with_folder)
        tcase_add_checked_fixture(tcase, make_folder, remove_folder);
    for (; *tests != NULL; tests++)
        tcase_add_test(tcase, *tests);
    suite_add_tcase(suite, tcase);
}

#define TESTS(...)           \
    (const TTest *const[]) { \
        __VA_ARGS__, NULL    \
    }

int main(void) {
    Suite *suite = suite_create("base");
    add(suite, "status", false,
        TESTS(messages_are_safe, messages_wrap_their_own,
              long_messages_end_at_a_character));
    add(suite, "utf8", false,
        TESTS(utf8_round_trips_every_scalar, utf8_refuses_what_is_malformed,
              utf8_prefix_finds_the_first_bad_byte));
    add(suite, "memory", false,
        TESTS(arena_hands_out_apart_and_aligned, arena_checks_sizes,
              arena_gives_back_what_was_huge, buffer_grows_and_fails_once));
    add(suite, "numbers", false,
        TESTS(loads_are_little_endian, half_is_exact_both_ways,
              half_rounds_to_nearest_even, hashes_part_what_differs));
    add(suite, "cpu", true,
        TESTS(features_imply_each_other, affinity_limits_cores, quota_of_version_2,
              quota_in_a_container, quota_of_version_1));
    add(suite, "path", true,
        TESTS(paths_join, names_are_searched_in_order, paths_are_taken_as_they_are,
              a_missing_model_names_the_places));
    add(suite, "mapping", true,
        TESTS(files_open_mapped_and_read, what_is_no_file_is_said,
              a_file_that_shrinks_ends_in_a_line, other_bus_errors_stay_fatal));
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
