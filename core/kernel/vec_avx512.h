/* SPDX-License-Identifier: MIT
 *
 * vec_avx512.h: sixteen lanes as one register of AVX-512 (lanes.h says what each must
 * do). */
#ifndef KERNEL_VEC_AVX512_H
#define KERNEL_VEC_AVX512_H

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))
#define TILE_OUTPUTS 8
#define TALL_TILES 1
enum { V_PARTS = 1, V_LANES = 16, CONTEXT_VECTORS = 4, ATTENTION_QUERIES = 6 };
typedef __m512 vreg;

INLINE vreg r_all(float x) {
    return _mm512_set1_ps(x);
}
INLINE vreg r_load(const float *p) {
    return _mm512_loadu_ps(p);
}
INLINE vreg r_load_half(const uint16_t *p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}
INLINE void r_store(float *p, vreg x) {
    _mm512_storeu_ps(p, x);
}
INLINE vreg r_add(vreg a, vreg b) {
    return _mm512_add_ps(a, b);
}
INLINE vreg r_sub(vreg a, vreg b) {
    return _mm512_sub_ps(a, b);
}
INLINE vreg r_mul(vreg a, vreg b) {
    return _mm512_mul_ps(a, b);
}
INLINE vreg r_div(vreg a, vreg b) {
    return _mm512_div_ps(a, b);
}
INLINE vreg r_fma(vreg a, vreg b, vreg c) {
    return _mm512_fmadd_ps(a, b, c);
}
INLINE vreg r_least(vreg bound, vreg x) {
    return _mm512_min_ps(bound, x);
}
INLINE vreg r_most(vreg bound, vreg x) {
    return _mm512_max_ps(bound, x);
}
INLINE vreg r_where_less(vreg a, vreg b, vreg yes, vreg no) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), no, yes);
}
INLINE vreg r_keep_nan(vreg kept, vreg x) {
    return _mm512_mask_mov_ps(kept, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), x);
}
INLINE vreg r_power(vreg shifted) {
    __m512i n = _mm512_add_epi32(_mm512_castps_si512(shifted), _mm512_set1_epi32(127));
    return _mm512_castsi512_ps(_mm512_slli_epi32(n, 23));
}

INLINE vreg r_keep(vreg x) {
    __asm__("" : "+v"(x));
    return x;
}

/* ---- Sixteen floats -------------------------------------------------------------- */

typedef struct {
    vreg r[V_PARTS];
} v16;

INLINE __mmask16 first_lanes(size_t n) {
    return (__mmask16)((1u << n) - 1);
}
INLINE v16 v_load_part(const float *p, size_t n) {
    return (v16){{_mm512_maskz_loadu_ps(first_lanes(n), p)}};
}
INLINE v16 v_load_half_part(const uint16_t *p, size_t n) {
    return (v16){{_mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first_lanes(n), p))}};
}
INLINE void v_store_part(float *p, v16 x, size_t n) {
    _mm512_mask_storeu_ps(p, first_lanes(n), x.r[0]);
}

INLINE void v_store_bytes(uint8_t *p, v16 x, int32_t zero) {
    __m512i n = _mm512_add_epi32(_mm512_cvtps_epi32(x.r[0]), _mm512_set1_epi32(zero));
    n = _mm512_max_epi32(n, _mm512_setzero_si512());
    _mm_storeu_si128((__m128i *)p, _mm512_cvtusepi32_epi8(n));
}

/* ---- Folds ----------------------------------------------------------------------- */

INLINE float v_fold(v16 x) {
    __m256 a =
        _mm256_add_ps(_mm512_castps512_ps256(x.r[0]), _mm512_extractf32x8_ps(x.r[0], 1));
    __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    b = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(b, _mm_movehdup_ps(b)));
}

INLINE float v_greatest(v16 x) {
    return _mm512_reduce_max_ps(x.r[0]);
}

/* Each step folds two vectors into one: a blend takes the half of each that stays in its
 * place, a shuffle the half that moves to it. */
INLINE vreg fold_8(vreg a, vreg b) {
    return r_add(_mm512_mask_blend_ps(0xff00, a, b), _mm512_shuffle_f32x4(a, b, 0x4e));
}
INLINE vreg fold_4(vreg a, vreg b) {
    const __m512i moved =
        _mm512_setr_epi32(4, 5, 6, 7, 16, 17, 18, 19, 12, 13, 14, 15, 24, 25, 26, 27);
    return r_add(_mm512_mask_blend_ps(0xf0f0, a, b), _mm512_permutex2var_ps(a, moved, b));
}
INLINE vreg fold_2(vreg a, vreg b) {
    return r_add(_mm512_mask_blend_ps(0xcccc, a, b), _mm512_shuffle_ps(a, b, 0x4e));
}

INLINE __m256 fold_eight(const v16 *s) {
    /* 128-bit lanes hold the outputs 0 1 | 2 3 | 4 5 | 6 7 */
    vreg low = fold_4(fold_8(s[0].r[0], s[4].r[0]), fold_8(s[2].r[0], s[6].r[0]));
    vreg high = fold_4(fold_8(s[1].r[0], s[5].r[0]), fold_8(s[3].r[0], s[7].r[0]));
    vreg x = fold_2(low, high);
    x = r_add(x, _mm512_permute_ps(x, 0xb1));
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 0, 0, 0, 0, 0, 0, 0, 0);
    return _mm512_castps512_ps256(_mm512_permutexvar_ps(even, x));
}

INLINE void v_fold_many(const v16 *s, int n, float *out) {
    if (n == 8)
        _mm256_storeu_ps(out, fold_eight(s));
    else
        for (int i = 0; i < n; i++)
            out[i] = v_fold(s[i]);
}

/* ---- Integers -------------------------------------------------------------------- */

typedef __m512i vint;

INLINE vint i_all(int32_t x) {
    return _mm512_set1_epi32(x);
}
INLINE vint i_load(const void *p) {
    return _mm512_loadu_si512(p);
}
INLINE vreg r_compensated(vint sum, int32_t zero, const int32_t *weight_sum) {
    vint minus = _mm512_mullo_epi32(i_all(zero), i_load(weight_sum));
    return _mm512_cvtepi32_ps(_mm512_sub_epi32(sum, minus));
}

#if defined(__AVX512VNNI__)
#define INT8_PANELS 2
enum { INT8_ROWS = 8 };
INLINE vint i_dot(vint sum, vint x, vint w) {
    return _mm512_dpbusd_epi32(sum, x, w);
}
#else
#define INT8_PANELS 1
enum { INT8_ROWS = 8 };
INLINE vint i_dot(vint sum, vint x, vint w) {
    vint even = _mm512_madd_epi16(_mm512_and_si512(x, _mm512_set1_epi16(0xff)),
                                  _mm512_srai_epi16(_mm512_slli_epi16(w, 8), 8));
    vint odd = _mm512_madd_epi16(_mm512_srli_epi16(x, 8), _mm512_srai_epi16(w, 8));
    return _mm512_add_epi32(sum, _mm512_add_epi32(even, odd));
}
#endif

#endif
