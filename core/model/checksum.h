/* SPDX-License-Identifier: MIT
 *
 * checksum.h: CRC-32C (RFC 3720, appendix B.4), which model.bert and TensorFlow files
 * use, and SHA-256 (FIPS 180-4), by which people name model files. */
#ifndef MODEL_CHECKSUM_H
#define MODEL_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Chain by passing the last result; begin with 0. */
uint32_t crc32c(uint32_t crc, const void *bytes, size_t size);

struct sha256 {
    uint32_t state[8];
    uint64_t size;
    unsigned char block[64];
};
enum { SHA256_TEXT = 65 };
void sha256_init(struct sha256 *sha);
void sha256_add(struct sha256 *sha, const void *bytes, size_t size);
void sha256_text(struct sha256 *sha, char text[SHA256_TEXT]); /* ends it; hexadecimal */

#endif
