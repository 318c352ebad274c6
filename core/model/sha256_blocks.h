/* SPDX-License-Identifier: MIT
 *
 * sha256_blocks.h: the compression function of SHA-256 (FIPS 180-4, section 6.2.2), in C
 * and by the instructions of x86 (cpu_features()->sha). Both chain state over count
 * blocks of 64 bytes. */
#ifndef MODEL_SHA256_BLOCKS_H
#define MODEL_SHA256_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

extern const uint32_t sha256_constants[64];

void sha256_blocks_portable(uint32_t state[8], const unsigned char *blocks, size_t count);
void sha256_blocks_x86(uint32_t state[8], const unsigned char *blocks, size_t count);

#endif
