/* SPDX-License-Identifier: MIT
 *
 * status.h: fills a struct bert_error. Every fallible function returns a bert_status. */
#ifndef BASE_STATUS_H
#define BASE_STATUS_H

#include "bert.h"

/* Sets status and message (truncated, control bytes escaped as \xNN) and returns status,
 * so that `return error_set(error, BERT_MODEL, "%s: too short", path);` reads well. error
 * may be NULL. */
enum bert_status error_set(struct bert_error *error, enum bert_status status,
                           const char *format, ...) __attribute__((format(printf, 3, 4)));

/* "out of memory", BERT_INTERNAL. */
enum bert_status error_memory(struct bert_error *error);

#endif
