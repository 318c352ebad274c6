/* SPDX-License-Identifier: MIT
 *
 * target.h: the target of a request ("/models/a%20b?text=x+y") taken apart. Percent signs
 * are decoded once and then the segments are checked, so that no spelling of ".." gets
 * through. Pure functions on bytes: they know no connection. */
#ifndef SERVICE_TARGET_H
#define SERVICE_TARGET_H

#include "base/bytes.h"
#include "base/status.h"

enum { TARGET_QUERY_MAX = 32 };

struct target_field {
    struct span name, value;
};

struct target {
    struct span path; /* decoded, starts with '/' */
    struct target_field query[TARGET_QUERY_MAX];
    size_t query_count;
    struct buffer decoded; /* what the spans lead into */
};

/* raw: origin form ("/path?query") or absolute form ("http://host/path"). Fails with
 * BERT_RECORD when it is neither, on bad escapes, control characters, text that is not
 * UTF-8, "." and ".." segments, backslashes, and more fields than fit. */
enum bert_status target_parse(struct target *target, struct span raw,
                              struct bert_error *error);
void target_release(struct target *target);

/* The field's first value; false when there is none. */
bool target_query(const struct target *target, const char *name, struct span *value);

#endif
