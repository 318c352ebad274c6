/* SPDX-License-Identifier: MIT
 *
 * multipart.h: a multipart/form-data body (RFC 7578) that is in memory, part by part,
 * without copies. */
#ifndef SERVICE_MULTIPART_H
#define SERVICE_MULTIPART_H

#include "base/bytes.h"

struct multipart {
    struct span left;
    char delimiter[76]; /* "\r\n--BOUNDARY"; a boundary has at most 70 characters */
    size_t delimiter_size;
};

struct multipart_part {
    struct span name, content;
    bool is_file; /* the part has a file name */
};

enum multipart_status { MULTIPART_PART, MULTIPART_END, MULTIPART_BAD };

/* content_type: the header's value. false when it isn't multipart/form-data with a usable
 * boundary. */
bool multipart_start(struct multipart *multipart, const char *content_type,
                     struct span body);
/* MULTIPART_BAD when the body doesn't follow the format or ends too early. */
enum multipart_status multipart_next(struct multipart *multipart,
                                     struct multipart_part *part);
/* The content of the part called "file", else of the first with a file name; false when
 * the body isn't well-formed or has neither. */
bool multipart_find_file(const char *content_type, struct span body, struct span *file);

#endif
