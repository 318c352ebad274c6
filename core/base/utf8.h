/* SPDX-License-Identifier: MIT
 *
 * utf8.h: decoding and counting. Valid means well-formed as Unicode defines it: shortest
 * form, no surrogates, at most U+10FFFF. NUL is a character like any other. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decodes the character at text[0], size > 0. Returns its length, 1 to 4, or 0 where the
 * bytes are not valid, in which case *bad is the length of the maximal bad part (W3C). */
size_t utf8_decode(const char *text, size_t size, uint32_t *codepoint, size_t *bad);
size_t utf8_encode(uint32_t codepoint, char out[4]);
/* The offset of the first invalid byte, or size when all is valid. */
size_t utf8_valid_prefix(const char *text, size_t size);
/* Code points in valid text. */
size_t utf8_count(const char *text, size_t size);

#endif
