/* SPDX-License-Identifier: MIT
 *
 * vec_avx2.h: sixteen lanes as two registers of AVX2 with FMA and F16C (lanes.h says what
 * each must do). */
#ifndef KERNEL_VEC_AVX2_H
#define KERNEL_VEC_AVX2_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define TILE_OUTPUTS 2
#define TALL_TILES 0
enum { V_PARTS = 2, V_LANES = 8, CONTEXT_VECTORS = 2, ATTENTION_QUERIES = 3 };
typedef __m256 vreg;

INLINE vreg r_all(float x) {
    return _mm256_set1_ps(x);
}
INLINE vreg r_load(const float *p) {
    return _mm256_loadu_ps(p);
}
INLINE vreg r_load_half(const uint16_t *p) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}
INLINE void r_store(float *p, vreg x) {
    _mm256_storeu_ps(p, x);
}
INLINE vreg r_add(vreg a, vreg b) {
    return _mm256_add_ps(a, b);
}
INLINE vreg r_sub(vreg a, vreg b) {
    return _mm256_sub_ps(a, b);
}
INLINE vreg r_mul(vreg a, vreg b) {
    return _mm256_mul_ps(a, b);
}
INLINE vreg r_div(vreg a, vreg b) {
    return _mm256_div_ps(a, b);
}
INLINE vreg r_fma(vreg a, vreg b, vreg c) {
    return _mm256_fmadd_ps(a, b, c);
}
INLINE vreg r_least(vreg bound, vreg x) {
    return _mm256_min_ps(bound, x);
}
INLINE vreg r_most(vreg bound, vreg x) {
    return _mm256_max_ps(bound, x);
}
INLINE vreg r_where_less(vreg a, vreg b, vreg yes, vreg no) {
    return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
}
INLINE vreg r_keep_nan(vreg kept, vreg x) {
    return _mm256_blendv_ps(kept, x, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}
INLINE vreg r_power(vreg shifted) {
    __m256i n = _mm256_add_epi32(_mm256_castps_si256(shifted), _mm256_set1_epi32(127));
    return _mm256_castsi256_ps(_mm256_slli_epi32(n, 23));
}
INLINE vreg r_keep(vreg x) {
    __asm__("" : "+x"(x));
    return x;
}

/* ---- Sixteen floats -------------------------------------------------------------- */

typedef struct {
    vreg r[V_PARTS];
} v16;

INLINE v16 v_load_part(const float *p, size_t n) {
    float lane[16] = {0};
    memcpy(lane, p, n * sizeof *p);
    return (v16){{r_load(lane), r_load(lane + 8)}};
}
INLINE v16 v_load_half_part(const uint16_t *p, size_t n) {
    uint16_t lane[16] = {0};
    memcpy(lane, p, n * sizeof *p);
    return (v16){{r_load_half(lane), r_load_half(lane + 8)}};
}
INLINE void v_store_part(float *p, v16 x, size_t n) {
    float lane[16];
    r_store(lane, x.r[0]);
    r_store(lane + 8, x.r[1]);
    memcpy(p, lane, n * sizeof *p);
}

INLINE void v_store_bytes(uint8_t *p, v16 x, int32_t zero) {
    __m256i z = _mm256_set1_epi32(zero);
    __m256i low = _mm256_add_epi32(_mm256_cvtps_epi32(x.r[0]), z);
    __m256i high = _mm256_add_epi32(_mm256_cvtps_epi32(x.r[1]), z);
    __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xd8);
    _mm_storeu_si128((__m128i *)p, _mm_packus_epi16(_mm256_castsi256_si128(words),
                                                    _mm256_extracti128_si256(words, 1)));
}

/* ---- Folds ----------------------------------------------------------------------- */

INLINE __m128 fold_to_four(v16 x) {
    __m256 a = r_add(x.r[0], x.r[1]);
    return _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
}

INLINE float v_fold(v16 x) {
    __m128 a = fold_to_four(x);
    a = _mm_add_ps(a, _mm_movehl_ps(a, a));
    return _mm_cvtss_f32(_mm_add_ss(a, _mm_movehdup_ps(a)));
}

INLINE float v_greatest(v16 x) {
    __m256 a = _mm256_max_ps(x.r[0], x.r[1]);
    __m128 b = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    b = _mm_max_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_max_ss(b, _mm_movehdup_ps(b)));
}

INLINE void v_fold_many(const v16 *s, int n, float *out) {
    if (n == 2) {
        __m128 a = fold_to_four(s[0]), b = fold_to_four(s[1]);
        __m128 c = _mm_add_ps(_mm_unpacklo_ps(a, b), _mm_unpackhi_ps(a, b));
        _mm_storel_pi((__m64 *)out, _mm_add_ps(c, _mm_movehl_ps(c, c)));
    } else {
        out[0] = v_fold(s[0]);
    }
}

/* ---- Integers -------------------------------------------------------------------- */

typedef __m256i vint;

INLINE vint i_all(int32_t x) {
    return _mm256_set1_epi32(x);
}
INLINE vint i_load(const void *p) {
    return _mm256_loadu_si256(p);
}
INLINE vreg r_compensated(vint sum, int32_t zero, const int32_t *weight_sum) {
    vint minus = _mm256_mullo_epi32(i_all(zero), i_load(weight_sum));
    return _mm256_cvtepi32_ps(_mm256_sub_epi32(sum, minus));
}

#define INT8_PANELS 1
#if defined(__AVXVNNI__)
enum { INT8_ROWS = 6 };
INLINE vint i_dot(vint sum, vint x, vint w) {
    return _mm256_dpbusd_avx_epi32(sum, x, w);
}
#else
enum { INT8_ROWS = 4 };
INLINE vint i_dot(vint sum, vint x, vint w) {
    vint even = _mm256_madd_epi16(_mm256_and_si256(x, _mm256_set1_epi16(0xff)),
                                  _mm256_srai_epi16(_mm256_slli_epi16(w, 8), 8));
    vint odd = _mm256_madd_epi16(_mm256_srli_epi16(x, 8), _mm256_srai_epi16(w, 8));
    return _mm256_add_epi32(sum, _mm256_add_epi32(even, odd));
}
#endif

#endif
