/* SPDX-License-Identifier: MIT
 *
 * bytes.c: buffers that double, and the bit arithmetic of the small float formats. */
#include "base/bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

bool text_ends_with(const char *text, const char *suffix) {
    size_t size = strlen(text), tail = strlen(suffix);
    return size >= tail && memcmp(text + size - tail, suffix, tail) == 0;
}

void buffer_release(struct buffer *buffer) {
    free(buffer->data);
    *buffer = (struct buffer){0};
}

bool buffer_reserve(struct buffer *buffer, size_t more) {
    size_t need;
    if (buffer->failed)
        return false;
    if (more <= buffer->capacity - buffer->size)
        return true;
    if (size_add(buffer->size, more, &need) && need <= PTRDIFF_MAX) {
        size_t capacity =
            buffer->capacity > PTRDIFF_MAX / 2 ? need : 2 * buffer->capacity;
        capacity = capacity < need ? need : capacity;
        capacity = capacity < 64 ? 64 : capacity;
        char *data = realloc(buffer->data, capacity);
        if (data != NULL) {
            buffer->data = data;
            buffer->capacity = capacity;
            return true;
        }
    }
    buffer->failed = true;
    return false;
}

void buffer_add(struct buffer *buffer, const void *bytes, size_t size) {
    if (size == 0 || !buffer_reserve(buffer, size))
        return;
    memcpy(buffer->data + buffer->size, bytes, size);
    buffer->size += size;
}

void buffer_add_text(struct buffer *buffer, const char *text) {
    buffer_add(buffer, text, strlen(text));
}

void buffer_add_byte(struct buffer *buffer, char byte) {
    if (buffer_reserve(buffer, 1))
        buffer->data[buffer->size++] = byte;
}

void buffer_printf(struct buffer *buffer, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0)
        buffer->failed = true;
    else if (buffer_reserve(buffer, (size_t)length + 1)) {
        vsnprintf(buffer->data + buffer->size, (size_t)length + 1, format, again);
        buffer->size += (size_t)length;
    }
    va_end(again);
}

char *buffer_text(struct buffer *buffer) {
    if (!buffer_reserve(buffer, 1))
        return NULL;
    buffer->data[buffer->size] = '\0';
    return buffer->data;
}

uint16_t load_u16(const void *bytes) {
    const unsigned char *b = bytes;
    return (uint16_t)(b[0] | b[1] << 8);
}

uint32_t load_u32(const void *bytes) {
    const unsigned char *b = bytes;
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

uint64_t load_u64(const void *bytes) {
    const unsigned char *b = bytes;
    return load_u32(b) | (uint64_t)load_u32(b + 4) << 32;
}

static float float_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

float half_to_float(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t exponent = half >> 10 & 0x1f, mantissa = half & 0x3ff;
    if (exponent == 0x1f)
        return float_of_bits(sign | 0x7f800000 | mantissa << 13);
    if (exponent != 0)
        return float_of_bits(sign | (exponent + 127 - 15) << 23 | mantissa << 13);
    float tiny = (float)mantissa * 0x1p-24f; /* exact: ten bits, and far from underflow */
    return sign ? -tiny : tiny;
}

uint16_t float_to_half(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) /* NaN: quiet, the upper payload kept */
        return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
    if (magnitude >= 0x477ff000) /* from 65520, which ties away from 65504 */
        return (uint16_t)(sign | 0x7c00);
    uint32_t shift = 13, kept = magnitude - ((127u - 15) << 23);
    if (magnitude < (127u - 14) << 23) { /* below the smallest normal half */
        if (magnitude < (127u - 25) << 23)
            return (uint16_t)sign;
        shift = 126 - (magnitude >> 23);
        kept = (magnitude & 0x7fffff) | 0x800000;
    }
    /* Half of the last place, less one unless that place is odd: ties go to even. */
    kept += (1u << (shift - 1)) - 1 + (kept >> shift & 1);
    return (uint16_t)(sign | kept >> shift); /* a carry moves into the exponent */
}

/* The multiplier and shifts of the 64-bit finaliser of MurmurHash3. */
static uint64_t mix(uint64_t h) {
    h = (h ^ h >> 33) * 0xff51afd7ed558ccdu;
    h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53u;
    return h ^ h >> 33;
}

uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t size) {
    const unsigned char *b = bytes;
    const uint64_t prime = 0x100000001b3u;
    uint64_t hash = (seed ^ size) * prime; /* the size parts "ab","c" from "a","bc" */
    for (; size >= 8; b += 8, size -= 8) {
        hash = (hash ^ load_u64(b)) * prime;
        hash ^= hash >> 32; /* upper bytes reach the lower half */
    }
    for (; size > 0; b++, size--)
        hash = (hash ^ *b) * prime;
    return mix(hash);
}
