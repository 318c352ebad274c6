/* SPDX-License-Identifier: MIT
 *
 * page.h: the files that are built into the server: the page of data/page and the
 * description of the interfaces. */
#ifndef SERVICE_PAGE_H
#define SERVICE_PAGE_H

#include "base/bytes.h"

/* The page with a fresh nonce in its script and style, and the policy that lets only
 * these run (policy has room for size bytes). false when there is no randomness or
 * memory. */
bool page_put(struct buffer *out, char *policy, size_t size);

struct span page_openapi(void);

#endif
