/* SPDX-License-Identifier: MIT
 *
 * vec_neon.h: sixteen lanes as four registers of NEON (lanes.h says what each must do).
 * The bytes of x go in as x - 128, since the products are of signed bytes. */
#ifndef KERNEL_VEC_NEON_H
#define KERNEL_VEC_NEON_H

#include <arm_neon.h>
#include <stddef.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define TILE_OUTPUTS 2
#define TALL_TILES 0
enum { V_PARTS = 4, V_LANES = 4, CONTEXT_VECTORS = 2, ATTENTION_QUERIES = 3 };
typedef float32x4_t vreg;

INLINE vreg r_all(float x) {
    return vdupq_n_f32(x);
}
INLINE vreg r_load(const float *p) {
    return vld1q_f32(p);
}
INLINE vreg r_load_half(const uint16_t *p) {
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}
INLINE void r_store(float *p, vreg x) {
    vst1q_f32(p, x);
}
INLINE vreg r_add(vreg a, vreg b) {
    return vaddq_f32(a, b);
}
INLINE vreg r_sub(vreg a, vreg b) {
    return vsubq_f32(a, b);
}
INLINE vreg r_mul(vreg a, vreg b) {
    return vmulq_f32(a, b);
}
INLINE vreg r_div(vreg a, vreg b) {
    return vdivq_f32(a, b);
}
INLINE vreg r_fma(vreg a, vreg b, vreg c) {
    return vfmaq_f32(c, a, b);
}
INLINE vreg r_least(vreg bound, vreg x) {
    return vbslq_f32(vcltq_f32(bound, x), bound, x);
}
INLINE vreg r_most(vreg bound, vreg x) {
    return vbslq_f32(vcgtq_f32(bound, x), bound, x);
}
INLINE vreg r_where_less(vreg a, vreg b, vreg yes, vreg no) {
    return vbslq_f32(vcltq_f32(a, b), yes, no);
}
INLINE vreg r_keep_nan(vreg kept, vreg x) {
    return vbslq_f32(vceqq_f32(x, x), kept, x);
}
INLINE vreg r_power(vreg shifted) {
    int32x4_t n = vaddq_s32(vreinterpretq_s32_f32(shifted), vdupq_n_s32(127));
    return vreinterpretq_f32_s32(vshlq_n_s32(n, 23));
}
INLINE vreg r_keep(vreg x) {
    __asm__("" : "+w"(x));
    return x;
}

/* ---- Sixteen floats -------------------------------------------------------------- */

typedef struct {
    vreg r[V_PARTS];
} v16;

INLINE v16 v_load_part(const float *p, size_t n) {
    float lane[16] = {0};
    memcpy(lane, p, n * sizeof *p);
    return (v16){{r_load(lane), r_load(lane + 4), r_load(lane + 8), r_load(lane + 12)}};
}
INLINE v16 v_load_half_part(const uint16_t *p, size_t n) {
    uint16_t lane[16] = {0};
    memcpy(lane, p, n * sizeof *p);
    return (v16){{r_load_half(lane), r_load_half(lane + 4), r_load_half(lane + 8),
                  r_load_half(lane + 12)}};
}
INLINE void v_store_part(float *p, v16 x, size_t n) {
    float lane[16];
    for (int i = 0; i < V_PARTS; i++)
        r_store(lane + i * V_LANES, x.r[i]);
    memcpy(p, lane, n * sizeof *p);
}

INLINE int16x4_t to_words(vreg x, int32_t zero) {
    return vqmovn_s32(vaddq_s32(vcvtnq_s32_f32(x), vdupq_n_s32(zero)));
}
INLINE void v_store_bytes(uint8_t *p, v16 x, int32_t zero) {
    int16x8_t low = vcombine_s16(to_words(x.r[0], zero), to_words(x.r[1], zero));
    int16x8_t high = vcombine_s16(to_words(x.r[2], zero), to_words(x.r[3], zero));
    vst1q_u8(p, vcombine_u8(vqmovun_s16(low), vqmovun_s16(high)));
}

/* ---- Folds ----------------------------------------------------------------------- */

INLINE vreg fold_to_four(v16 x) {
    return r_add(r_add(x.r[0], x.r[2]), r_add(x.r[1], x.r[3]));
}

INLINE float v_fold(v16 x) {
    vreg a = fold_to_four(x);
    float32x2_t b = vadd_f32(vget_low_f32(a), vget_high_f32(a));
    return vget_lane_f32(b, 0) + vget_lane_f32(b, 1);
}

INLINE float v_greatest(v16 x) {
    return vmaxvq_f32(vmaxq_f32(vmaxq_f32(x.r[0], x.r[1]), vmaxq_f32(x.r[2], x.r[3])));
}

INLINE void v_fold_many(const v16 *s, int n, float *out) {
    if (n == 2) {
        vreg a = fold_to_four(s[0]), b = fold_to_four(s[1]);
        vreg c = r_add(vcombine_f32(vget_low_f32(a), vget_low_f32(b)),
                       vcombine_f32(vget_high_f32(a), vget_high_f32(b)));
        vst1_f32(out, vget_low_f32(vpaddq_f32(c, c)));
    } else {
        out[0] = v_fold(s[0]);
    }
}

/* ---- Integers -------------------------------------------------------------------- */

typedef int32x4_t vint;

INLINE vint i_all(int32_t x) {
    return vdupq_n_s32(x);
}
INLINE vint i_load(const void *p) {
    return vreinterpretq_s32_s8(vld1q_s8(p));
}
INLINE vreg r_compensated(vint sum, int32_t zero, const int32_t *weight_sum) {
    return vcvtq_f32_s32(vmlsq_s32(sum, i_all(zero - 128), vld1q_s32(weight_sum)));
}
INLINE int8x16_t less_128(vint x) {
    return vreinterpretq_s8_u8(veorq_u8(vreinterpretq_u8_s32(x), vdupq_n_u8(128)));
}

#define INT8_PANELS 1
#if defined(__ARM_FEATURE_DOTPROD)
enum { INT8_ROWS = 6 };
INLINE vint i_dot(vint sum, vint x, vint w) {
    return vdotq_s32(sum, vreinterpretq_s8_s32(w), less_128(x));
}
#else
enum { INT8_ROWS = 4 };
INLINE vint i_dot(vint sum, vint x, vint w) {
    int8x16_t a = less_128(x), b = vreinterpretq_s8_s32(w);
    int32x4_t low = vpaddlq_s16(vmull_s8(vget_low_s8(a), vget_low_s8(b)));
    int32x4_t high = vpaddlq_s16(vmull_high_s8(a, b));
    return vaddq_s32(sum, vpaddq_s32(low, high));
}
#endif

#endif
