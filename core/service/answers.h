/* SPDX-License-Identifier: MIT
 *
 * answers.h: the answers of a job: shared by equal texts, counted, and found again by
 * text as long as they are among the last ones used. */
#ifndef SERVICE_ANSWERS_H
#define SERVICE_ANSWERS_H

#include "service/job.h"

#include <stdatomic.h>

struct answer {
    struct job_answer given;
    struct buffer text, before; /* what is asked */
    uint64_t hash;
    atomic_uint references;
    struct answer *chain, *newer, *older;
};

/* One thread's, but for answer_release. */
struct answers {
    struct answer **buckets;
    struct answer *newest, *oldest;
    size_t count, bytes;  /* in the map; bytes of texts */
    atomic_size_t *given; /* bytes of all answers alive */
};

bool answers_init(struct answers *answers, atomic_size_t *given);
void answers_release(struct answers *answers);

/* The answer to this text if it is known, else a new one with the text copied into it
 * (then *fresh). The caller holds a reference. NULL without memory. remember: keep it to
 * be found; old ones make room. */
struct answer *answers_get(struct answers *answers, const struct buffer *text,
                           const struct buffer *before, bool remember, bool *fresh);
void answer_release(struct answer *answer, atomic_size_t *given);

#endif
