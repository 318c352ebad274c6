/* SPDX-License-Identifier: MIT
 *
 * yaml.h: reads a configuration file: a mapping of keys to scalars or lists of scalars,
 * and sections, which are the same one level down. Anchors, tags and deeper nesting are
 * refused. */
#ifndef IO_YAML_H
#define IO_YAML_H

#include "base/status.h"

enum yaml_part { YAML_VALUE, YAML_KEY, YAML_SECTION };

struct yaml_place {
    size_t line, column; /* from 1 */
};

struct yaml_item {       /* valid during the call */
    const char *section; /* or NULL */
    const char *key, *value;
    bool quoted;                 /* "5" or '5' is text, 5 a number */
    bool listed;                 /* one of a list's items, each its own call */
    bool again;                  /* this section had that key before */
    struct yaml_place places[3]; /* by enum yaml_part */
};

/* Called for each scalar in order. On BERT_USAGE the message gets FILE:LINE:COLUMN in
 * front of it, that of the part which *culprit names. */
typedef enum bert_status yaml_take(void *arg, const struct yaml_item *item,
                                   enum yaml_part *culprit, struct bert_error *error);

/* BERT_USAGE for whatever is wrong in the file, BERT_IO when it cannot be read. */
enum bert_status yaml_read(const char *path, yaml_take *take, void *arg,
                           struct bert_error *error);

#endif
