/* SPDX-License-Identifier: MIT
 *
 * fuzz_utf8.c: any bytes as UTF-8, and what each character becomes when it is normalised.
 * A character written anew is the same bytes; what it becomes stays as it is. */
#include "base/utf8.h"
#include "text/normalize.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds)
        abort();
}

typedef size_t map(uint32_t codepoint, uint32_t out[NORMALIZE_MOST]);

static void check_map(map *of, uint32_t codepoint, size_t most) {
    uint32_t once[NORMALIZE_MOST], twice[NORMALIZE_MOST];
    size_t count = of(codepoint, once);
    require(count >= 1 && count <= most);
    for (size_t i = 0; i < count; i++) {
        require(once[i] < UNICODE_LIMIT && (once[i] < 0xd800 || once[i] > 0xdfff));
        require(of(once[i], twice) == 1 && twice[0] == once[i]);
    }
}

static void check_character(uint32_t codepoint, const char *bytes, size_t length) {
    char again[4];
    require(utf8_encode(codepoint, again) == length && !memcmp(again, bytes, length));
    check_map(normalize_decompose, codepoint, NORMALIZE_MOST);
    check_map(normalize_lower, codepoint, 2);
    require(normalize_width(codepoint) >= 0 && normalize_width(codepoint) <= 2);
    require((unicode_flags(codepoint) & UNICODE_CLASS) <= UNICODE_MARK);
    require((unicode_flags(codepoint) & UNICODE_CLASS) != UNICODE_PUNCTUATION ||
            normalize_is_symbol(codepoint));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *text = (const char *)data;
    size_t valid = utf8_valid_prefix(text, size), count = 0;
    bool broken = false;
    for (size_t at = 0, bad; at < size;) {
        uint32_t codepoint;
        size_t length = utf8_decode(text + at, size - at, &codepoint, &bad);
        if (length == 0) {
            require(bad >= 1 && bad <= 3 && bad <= size - at);
            require(broken || at == valid);
            broken = true;
            at += bad;
            continue;
        }
        require(length <= 4 && length <= size - at);
        check_character(codepoint, text + at, length);
        count += !broken;
        at += length;
    }
    require(broken || valid == size);
    require(utf8_count(text, valid) == count);
    return 0;
}
