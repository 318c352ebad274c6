/* SPDX-License-Identifier: MIT
 *
 * normalize.h: canonical decomposition and lower case of single code points, as Hugging
 * Face's tokenizer maps them, and the facts that a terminal needs. */
#ifndef TEXT_NORMALIZE_H
#define TEXT_NORMALIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NORMALIZE_MOST = 4 }; /* code points that one may become */

/* The full canonical decomposition, not reordered. Returns its length, at least 1. */
size_t normalize_decompose(uint32_t codepoint, uint32_t out[NORMALIZE_MOST]);
/* The lower case, without regard to neighbours. Returns its length, 1 or 2. */
size_t normalize_lower(uint32_t codepoint, uint32_t out[NORMALIZE_MOST]);

/* Punctuation or a symbol (Unicode's P and S, and what BERT takes for punctuation). */
bool normalize_is_symbol(uint32_t codepoint);
/* Columns on a terminal: 0, 1 or 2. */
int normalize_width(uint32_t codepoint);

#endif
