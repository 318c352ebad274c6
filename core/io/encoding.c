/* SPDX-License-Identifier: MIT
 *
 * encoding.c: guesses an encoding and converts by iconv, which only this file knows. */
#include "io/encoding.h"

#include "base/utf8.h"

#include <errno.h>
#include <iconv.h>
#include <strings.h>

bool encoding_parse(const char *name, enum encoding *encoding) {
    static const struct {
        const char *name;
        enum encoding encoding;
    } known[] = {{"auto", ENCODING_AUTO},    {"utf-8", ENCODING_UTF8},
                 {"utf8", ENCODING_UTF8},    {"gb18030", ENCODING_GB18030},
                 {"gbk", ENCODING_GB18030},  {"gb2312", ENCODING_GB18030},
                 {"cp936", ENCODING_GB18030}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcasecmp(name, known[i].name) == 0) {
            *encoding = known[i].encoding;
            return true;
        }
    }
    return false;
}

const char *encoding_name(enum encoding encoding) {
    static const char *const names[] = {"auto", "UTF-8", "GB18030"};
    return names[encoding];
}

/* Counts bytes beyond ASCII, and those of them in no valid sequence. */
static void count_utf8(const char *sample, size_t size, size_t *beyond, size_t *invalid) {
    *beyond = *invalid = 0;
    for (size_t i = 0; i < size;) {
        uint32_t codepoint;
        size_t bad, length = utf8_decode(sample + i, size - i, &codepoint, &bad);
        if (length == 0 && i + bad == size && size - i < 4)
            return; /* cut by the end */
        if (length != 1)
            *beyond += length ? length : bad;
        if (length == 0)
            *invalid += bad;
        i += length ? length : bad;
    }
}

static bool is_gb18030(const unsigned char *s, size_t size) {
    for (size_t i = 0; i < size;) {
        if (s[i] < 0x80) {
            i++;
            continue;
        }
        if (s[i] == 0x80 || s[i] == 0xff)
            return false;
        if (i + 1 == size)
            return true;
        if (s[i + 1] < 0x30 || s[i + 1] > 0x39) {
            if (s[i + 1] < 0x40 || s[i + 1] == 0x7f || s[i + 1] == 0xff)
                return false;
            i += 2;
            continue;
        }
        bool third = i + 2 >= size || (s[i + 2] >= 0x81 && s[i + 2] <= 0xfe);
        bool fourth = i + 3 >= size || (s[i + 3] >= 0x30 && s[i + 3] <= 0x39);
        if (!third || !fourth)
            return false;
        i += 4;
    }
    return true;
}

enum encoding encoding_guess(const char *sample, size_t size) {
    size_t beyond, invalid;
    count_utf8(sample, size, &beyond, &invalid);
    if (invalid * 100 <= beyond || !is_gb18030((const unsigned char *)sample, size))
        return ENCODING_UTF8;
    return ENCODING_GB18030;
}

const char *encoding_refused(const char *start, size_t size) {
    if (size >= 4 && memcmp(start, "\xff\xfe\0\0", 4) == 0)
        return "UTF-32 (little endian)";
    if (size >= 2 && memcmp(start, "\xff\xfe", 2) == 0)
        return "UTF-16 (little endian)";
    if (size >= 2 && memcmp(start, "\xfe\xff", 2) == 0)
        return "UTF-16 (big endian)";
    size_t zeros[2] = {0, 0}; /* on even and odd places */
    for (size_t i = 0; i < size; i++)
        zeros[i & 1] += start[i] == 0;
    size_t most = zeros[zeros[1] > zeros[0]], all = zeros[0] + zeros[1];
    if (all < 8 || all * 10 < size || most * 10 < all * 9)
        return NULL;
    return zeros[1] > zeros[0] ? "UTF-16 (little endian, by its many NUL bytes)"
                               : "UTF-16 (big endian, by its many NUL bytes)";
}

struct decoder {
    iconv_t handle;
};

enum bert_status decoder_new(struct decoder **decoder, struct bert_error *error) {
    iconv_t handle = iconv_open("UTF-8", "GB18030");
    if (handle == (iconv_t)-1)
        return error_set(error, BERT_INTERNAL,
                         "this system's iconv cannot read GB18030: %s", strerror(errno));
    *decoder = malloc(sizeof **decoder);
    if (!*decoder) {
        iconv_close(handle);
        return error_memory(error);
    }
    (*decoder)->handle = handle;
    return BERT_OK;
}

void decoder_free(struct decoder *decoder) {
    if (!decoder)
        return;
    iconv_close(decoder->handle);
    free(decoder);
}

size_t decoder_run(struct decoder *decoder, const char *bytes, size_t size, bool last,
                   struct buffer *out) {
    char *in = (char *)(uintptr_t)bytes; /* iconv takes no const, and writes nothing */
    size_t left = size;
    while (left > 0) {
        if (!buffer_reserve(out, left * 3 / 2 + 8))
            return size - left;
        char *to = out->data + out->size;
        size_t room = out->capacity - out->size;
        size_t result = iconv(decoder->handle, &in, &left, &to, &room);
        out->size = (size_t)(to - out->data);
        if (result != (size_t)-1 || errno == E2BIG)
            continue;
        if (errno == EINVAL && !last)
            break;
        buffer_add_byte(out, *in++);
        left--;
    }
    return size - left;
}

void encoding_repair(struct buffer *out, const char *bytes, size_t size) {
    while (size > 0) {
        size_t valid = utf8_valid_prefix(bytes, size);
        buffer_add(out, bytes, valid);
        bytes += valid;
        size -= valid;
        if (size == 0)
            return;
        uint32_t codepoint;
        size_t bad = 1;
        utf8_decode(bytes, size, &codepoint, &bad);
        buffer_add(out, "\xef\xbf\xbd", 3);
        bytes += bad;
        size -= bad;
    }
}
