/* SPDX-License-Identifier: MIT
 *
 * encoding.h: which encoding bytes are in, and GB18030 (with it GBK and GB2312) into
 * UTF-8. Everything behind a source is UTF-8. */
#ifndef IO_ENCODING_H
#define IO_ENCODING_H

#include "base/bytes.h"
#include "base/status.h"

enum encoding { ENCODING_AUTO, ENCODING_UTF8, ENCODING_GB18030 };

enum { ENCODING_SAMPLE = 65536 }; /* bytes that decide, from the first one beyond ASCII */

/* "auto", "utf-8", "gb18030" and their usual spellings; false for others. */
bool encoding_parse(const char *name, enum encoding *encoding);
const char *encoding_name(enum encoding encoding); /* "UTF-8", "GB18030", "auto" */

/* UTF-8 when at least 99 of 100 bytes beyond ASCII lie in valid sequences, else GB18030
 * when the sample is valid as that, else UTF-8. A sequence cut by the sample's end is not
 * held against it. */
enum encoding encoding_guess(const char *sample, size_t size);

/* Why the start of an input is not text that we read ("UTF-16 (little endian)": iconv's
 * name, a space, more), or NULL. A byte-order mark tells; without one, NUL bytes on every
 * other place. */
const char *encoding_refused(const char *start, size_t size);

struct decoder;
enum bert_status decoder_new(struct decoder **decoder, struct bert_error *error);
void decoder_free(struct decoder *decoder);
/* Appends the UTF-8 of bytes to out and returns how many bytes were used: all, but for a
 * character cut by the end unless last is set. Bytes that are not GB18030 stay as they
 * are, so that the record that holds them is found invalid. */
size_t decoder_run(struct decoder *decoder, const char *bytes, size_t size, bool last,
                   struct buffer *out);

/* Appends bytes with U+FFFD in place of each part that is not UTF-8. */
void encoding_repair(struct buffer *out, const char *bytes, size_t size);

#endif
