/* SPDX-License-Identifier: MIT
 *
 * checksum.c: CRC-32C by eight tables, made on the stack: a few microseconds, and no
 * state; SHA-256 as its standard writes it. */
#include "model/checksum.h"

#include "base/cpu.h"
#include "model/sha256_blocks.h"

#include <stdio.h>
#include <string.h>

/* Of a little-endian machine, as all weights in place are. These loops see every byte of
 * a model. */
static inline uint32_t word_at(const unsigned char *bytes) {
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

static void fill_tables(uint32_t tables[8][256], int count) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++)
            value = value >> 1 ^ (value & 1 ? 0x82f63b78u : 0);
        tables[0][i] = value;
    }
    for (int t = 1; t < count; t++)
        for (int i = 0; i < 256; i++)
            tables[t][i] = tables[t - 1][i] >> 8 ^ tables[0][tables[t - 1][i] & 255];
}

uint32_t crc32c(uint32_t crc, const void *bytes, size_t size) {
    enum { WORTH_EIGHT = 4096 };
    uint32_t t[8][256];
    const unsigned char *at = bytes;
    fill_tables(t, size < WORTH_EIGHT ? 1 : 8);
    crc = ~crc;
    for (; size >= WORTH_EIGHT || (size >= 8 && at != bytes); at += 8, size -= 8) {
        uint32_t low = word_at(at) ^ crc, high = word_at(at + 4);
        crc = t[7][low & 255] ^ t[6][low >> 8 & 255] ^ t[5][low >> 16 & 255] ^
              t[4][low >> 24] ^ t[3][high & 255] ^ t[2][high >> 8 & 255] ^
              t[1][high >> 16 & 255] ^ t[0][high >> 24];
    }
    for (; size > 0; at++, size--)
        crc = crc >> 8 ^ t[0][(crc ^ *at) & 255];
    return ~crc;
}

const uint32_t sha256_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
    0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
    0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
    0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
    0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
    0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
    0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
    0xc67178f2,
};

static inline uint32_t rotate(uint32_t value, int bits) {
    return value >> bits | value << (32 - bits);
}

static void sha256_block(uint32_t state[8], const unsigned char *block) {
    uint32_t w[64], s[8];
    for (int i = 0; i < 16; i++)
        w[i] = __builtin_bswap32(word_at(block + 4 * i));
    for (int i = 16; i < 64; i++) {
        uint32_t a = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t b = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + a + w[i - 7] + b;
    }
    memcpy(s, state, sizeof s);
    for (int i = 0; i < 64; i++) {
        uint32_t e = rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25);
        uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
        uint32_t one = s[7] + e + choice + sha256_constants[i] + w[i];
        uint32_t a = rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22);
        uint32_t two = a + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        s[7] = s[6], s[6] = s[5], s[5] = s[4], s[4] = s[3] + one;
        s[3] = s[2], s[2] = s[1], s[1] = s[0], s[0] = one + two;
    }
    for (int i = 0; i < 8; i++)
        state[i] += s[i];
}

void sha256_blocks_portable(uint32_t state[8], const unsigned char *blocks,
                            size_t count) {
    for (; count > 0; count--, blocks += 64)
        sha256_block(state, blocks);
}

static void add_blocks(uint32_t state[8], const unsigned char *blocks, size_t count) {
#if defined(__x86_64__)
    if (cpu_features()->sha) {
        sha256_blocks_x86(state, blocks, count);
        return;
    }
#endif
    sha256_blocks_portable(state, blocks, count);
}

void sha256_init(struct sha256 *sha) {
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    *sha = (struct sha256){0};
    memcpy(sha->state, start, sizeof start);
}

void sha256_add(struct sha256 *sha, const void *bytes, size_t size) {
    const unsigned char *at = bytes;
    size_t used = sha->size % 64;
    if (size == 0)
        return; /* bytes may be NULL */
    sha->size += size;
    if (used > 0) {
        size_t part = size < 64 - used ? size : 64 - used;
        memcpy(sha->block + used, at, part);
        at += part, size -= part, used += part;
        if (used < 64)
            return;
        add_blocks(sha->state, sha->block, 1);
    }
    add_blocks(sha->state, at, size / 64);
    memcpy(sha->block, at + size / 64 * 64, size % 64);
}

void sha256_text(struct sha256 *sha, char text[SHA256_TEXT]) {
    static const unsigned char end[64] = {0x80};
    unsigned char bits[8];
    for (int i = 0; i < 8; i++)
        bits[i] = (unsigned char)(sha->size * 8 >> (56 - 8 * i));
    size_t used = sha->size % 64;
    sha256_add(sha, end, used < 56 ? 56 - used : 120 - used);
    sha256_add(sha, bits, sizeof bits);
    for (int i = 0; i < 8; i++)
        snprintf(text + 8 * i, SHA256_TEXT - (size_t)(8 * i), "%08x", sha->state[i]);
}
