/* SPDX-License-Identifier: MIT
 *
 * pool.h: threads for one forward pass. A phase is run by all workers at once; between
 * phases they spin for a bounded time (about 50 to 100 microseconds) and only then sleep.
 */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include "base/status.h"

#include <stddef.h>

struct pool;

/* threads counts the caller: threads - 1 are started. 1 starts none. */
enum bert_status pool_new(struct pool **pool, int threads, struct bert_error *error);
void pool_free(struct pool *pool);
int pool_threads(const struct pool *pool); /* NULL: 1 */

/* Runs task over [0, count) cut into pieces of about grain items (a piece's begin is a
 * multiple of grain); returns when all is done. Worker w starts with its own share, so
 * that it meets the same part of a matrix each time, and then helps the others. The
 * caller is worker 0. A NULL pool runs task(arg, 0, count, 0) at once. */
typedef void pool_task(void *arg, size_t begin, size_t end, int worker);
void pool_run(struct pool *pool, size_t count, size_t grain, pool_task *task, void *arg);

#endif
