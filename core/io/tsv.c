/* SPDX-License-Identifier: MIT
 *
 * tsv.c: the escapes of tab-separated cells. */
#include "io/tsv.h"

static const char letters[] = "\tt\nn\rr\\\\"; /* pairs: the byte, its letter */

void tsv_put_cell(struct buffer *out, const char *bytes, size_t size) {
    size_t plain = 0;
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != '\t' && bytes[i] != '\n' && bytes[i] != '\r' && bytes[i] != '\\')
            continue;
        buffer_add(out, bytes + plain, i - plain);
        const char *pair = letters;
        while (*pair != bytes[i])
            pair += 2;
        buffer_add_byte(out, '\\');
        buffer_add_byte(out, pair[1]);
        plain = i + 1;
    }
    if (size > plain)
        buffer_add(out, bytes + plain, size - plain);
}

void tsv_read_cell(struct buffer *out, const char *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) {
        const char *pair = letters + sizeof letters - 1;
        if (bytes[i] == '\\' && i + 1 < size)
            for (pair = letters; *pair && pair[1] != bytes[i + 1];)
                pair += 2;
        if (*pair)
            i++;
        buffer_add_byte(out, *pair ? *pair : bytes[i]);
    }
}
