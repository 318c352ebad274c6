/* SPDX-License-Identifier: MIT
 *
 * sha256_x86.c: SHA-256 by the instructions made for it, four times as fast as C: a
 * conversion hashes its source and its result. */
#include "model/sha256_blocks.h"

#include <immintrin.h>

static __m128i load(const void *bytes) {
    return _mm_loadu_si128((const __m128i *)bytes);
}

/* The sixteen groups of four rounds. Group i takes the words w[0], which are words 4i to
 * 4i + 3 of the schedule, and makes the four that come after w[3]. */
static void rounds(__m128i *abef, __m128i *cdgh, __m128i w[4]) {
    for (int i = 0; i < 16; i++) {
        __m128i sum = _mm_add_epi32(w[0], load(sha256_constants + 4 * i));
        *cdgh = _mm_sha256rnds2_epu32(*cdgh, *abef, sum);
        *abef = _mm_sha256rnds2_epu32(*abef, *cdgh, _mm_shuffle_epi32(sum, 0x0e));
        __m128i next = _mm_add_epi32(_mm_sha256msg1_epu32(w[0], w[1]),
                                     _mm_alignr_epi8(w[3], w[2], 4));
        next = _mm_sha256msg2_epu32(next, w[3]);
        w[0] = w[1], w[1] = w[2], w[2] = w[3], w[3] = next;
    }
}

void sha256_blocks_x86(uint32_t state[8], const unsigned char *blocks, size_t count) {
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    /* The instructions want the words a b e f and c d g h, the first one highest. */
    __m128i badc = _mm_shuffle_epi32(load(state), 0xb1);
    __m128i hgfe = _mm_shuffle_epi32(load(state + 4), 0x1b);
    __m128i abef = _mm_alignr_epi8(badc, hgfe, 8);
    __m128i cdgh = _mm_blend_epi16(hgfe, badc, 0xf0);
    for (; count > 0; count--, blocks += 64) {
        __m128i w[4], abef_before = abef, cdgh_before = cdgh;
        for (int i = 0; i < 4; i++)
            w[i] = _mm_shuffle_epi8(load(blocks + 16 * i), big_endian);
        rounds(&abef, &cdgh, w);
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128((__m128i *)state, _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}
