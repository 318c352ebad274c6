/* SPDX-License-Identifier: MIT
 *
 * bench_peak.c: chains of independent instructions, enough to hide their latency. */
#include "bench_peak.h"

#include "base/cpu.h"

#include <stdint.h>
#include <time.h>

enum { CHAINS = 12, TURNS = 200000 };

double bench_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The fence keeps the compiler from folding the chains or moving them out of the loop. */
#define MEASURE(type, start, step, lanes)                                       \
    do {                                                                        \
        type c[CHAINS];                                                         \
        _Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++) c[i] = start; \
        double begin = bench_seconds();                                         \
        for (int turn = 0; turn < TURNS; turn++)                                \
            _Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++) {         \
                c[i] = step;                                                    \
                __asm__ __volatile__("" : FENCE(c[i]));                         \
            }                                                                   \
        return 2.0 * (lanes)*CHAINS * TURNS / (bench_seconds() - begin);        \
    } while (0)

#if defined __x86_64__
#include <immintrin.h>
#define FENCE(value) "+v"(value)

__attribute__((target("avx512f"))) static double f32_avx512(void) {
    __m512 a = _mm512_set1_ps(0.5f);
    MEASURE(__m512, a, _mm512_fmadd_ps(c[i], a, a), 16);
}

__attribute__((target("avx2,fma"))) static double f32_avx2(void) {
    __m256 a = _mm256_set1_ps(0.5f);
    MEASURE(__m256, a, _mm256_fmadd_ps(c[i], a, a), 8);
}

__attribute__((target("avx512f,avx512vnni"))) static double int8_avx512(void) {
    __m512i a = _mm512_set1_epi8(1);
    MEASURE(__m512i, a, _mm512_dpbusd_epi32(c[i], a, a), 64);
}

__attribute__((target("avx2,avxvnni"))) static double int8_avx2(void) {
    __m256i a = _mm256_set1_epi8(1);
    MEASURE(__m256i, a, _mm256_dpbusd_avx_epi32(c[i], a, a), 32);
}

double bench_peak_f32(void) {
    const struct cpu_features *cpu = cpu_features();
    return cpu->avx512 ? f32_avx512() : cpu->avx2 ? f32_avx2() : 0;
}

double bench_peak_int8(void) {
    const struct cpu_features *cpu = cpu_features();
    return cpu->avx512vnni ? int8_avx512() : cpu->avxvnni ? int8_avx2() : 0;
}

#elif defined __aarch64__
#include <arm_neon.h>
#define FENCE(value) "+w"(value)

double bench_peak_f32(void) {
    float32x4_t a = vdupq_n_f32(0.5f);
    MEASURE(float32x4_t, a, vfmaq_f32(a, c[i], a), 4);
}

double bench_peak_int8(void) {
    return 0;
}

#else

double bench_peak_f32(void) {
    return 0;
}

double bench_peak_int8(void) {
    return 0;
}
#endif

/* One word of each line, in four streams: no one stream is as fast. */
double bench_read(const void *bytes, size_t size) {
    enum { LINE_WORDS = 8 };
    const uint64_t *from = bytes;
    const size_t quarter = size / (4 * LINE_WORDS * sizeof *from) * LINE_WORDS;
    uint64_t s[4] = {0};
    double begin = bench_seconds();
    for (size_t i = 0; i < quarter; i += LINE_WORDS)
        _Pragma("GCC unroll 4") for (size_t j = 0; j < 4; j++) s[j] ^=
            from[j * quarter + i];
    double seconds = bench_seconds() - begin;
    __asm__ __volatile__("" : : "r"(s[0] ^ s[1] ^ s[2] ^ s[3]));
    return seconds;
}
