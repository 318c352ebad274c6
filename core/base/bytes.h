/* SPDX-License-Identifier: MIT
 *
 * bytes.h: spans, growable buffers, checked sizes, little-endian loads, and the float
 * formats of 16 bits. */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct span { /* bytes somebody else owns */
    const char *data;
    size_t size;
};

static inline struct span span_of(const char *text) {
    return (struct span){text, strlen(text)};
}
static inline bool span_equal(struct span a, struct span b) {
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* Whether text ends with suffix. */
bool text_ends_with(const char *text, const char *suffix);

struct buffer { /* bytes we own; zero-initialised is empty */
    char *data;
    size_t size, capacity;
    bool failed; /* memory ran out: sticky, so a chain of adds is checked once */
};

void buffer_release(struct buffer *buffer);
bool buffer_reserve(struct buffer *buffer, size_t more); /* room for more bytes */
void buffer_add(struct buffer *buffer, const void *bytes, size_t size);
void buffer_add_text(struct buffer *buffer, const char *text);
void buffer_add_byte(struct buffer *buffer, char byte);
void buffer_printf(struct buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds a NUL that size does not count, and returns data; NULL when failed. */
char *buffer_text(struct buffer *buffer);

/* false on overflow, *result untouched. */
static inline bool size_mul(size_t a, size_t b, size_t *result) {
    return !__builtin_mul_overflow(a, b, result);
}
static inline bool size_add(size_t a, size_t b, size_t *result) {
    return !__builtin_add_overflow(a, b, result);
}

uint16_t load_u16(const void *bytes);
uint32_t load_u32(const void *bytes);
uint64_t load_u64(const void *bytes);

/* IEEE binary16 and bfloat16. Conversions to float are exact, denormals kept; from float
 * they round to nearest even, and overflow to infinity. */
float half_to_float(uint16_t half);
uint16_t float_to_half(float value);
static inline float bfloat_to_float(uint16_t b) {
    uint32_t bits = (uint32_t)b << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* FNV-1a style 64-bit hash with a finaliser; for tables, caches and identities, not for
 * security. Chain by passing the last result as seed; start with HASH_SEED. */
#define HASH_SEED 0xcbf29ce484222325u
uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t size);

#endif
