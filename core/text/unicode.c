/* SPDX-License-Identifier: MIT
 *
 * unicode.c: look-up in the generated tables. Running text does not come here: charmap.h
 * holds what it needs by code point. */
#include "text/unicode.h"

unsigned unicode_flags(uint32_t codepoint) {
    size_t low = 0, high = unicode_range_count;
    if (codepoint >= UNICODE_LIMIT)
        return 0;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (unicode_ranges[middle] >> 8 <= codepoint)
            low = middle;
        else
            high = middle;
    }
    return unicode_ranges[low] & 0xff;
}

uint8_t unicode_order(uint32_t codepoint) {
    size_t low = 0, high = unicode_order_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (unicode_orders[middle].last < codepoint)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == unicode_order_count || unicode_orders[low].first > codepoint)
        return 0;
    return unicode_orders[low].value;
}

bool unicode_is_han(uint32_t codepoint) {
    return (codepoint >= 0x4e00 && codepoint <= 0x9fff) || codepoint == 0x3005 ||
           codepoint == 0x3007 ||
           (unicode_flags(codepoint) & UNICODE_CLASS) == UNICODE_CJK;
}
