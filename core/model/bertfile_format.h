/* SPDX-License-Identifier: MIT
 *
 * bertfile_format.h: what the writer and the reader of model.bert must agree on. */
#ifndef MODEL_BERTFILE_FORMAT_H
#define MODEL_BERTFILE_FORMAT_H

#include "model/checksum.h"

/* The header's JSON begins with this; eight hexadecimal digits follow: CRC-32C of all
 * bytes from the file's begin to the vocabulary's end, these digits read as 0. */
#define BERTFILE_PREFIX "{\"__metadata__\": {\"model.bert_checksum\": \""
#define BERTFILE_VOCABULARY "vocabulary" /* the first tensor */

enum {
    BERTFILE_ALIGNMENT = 64,
    BERTFILE_DIGITS =
        8 + sizeof BERTFILE_PREFIX - 1, /* offset of the checksum's digits */
};

#endif
