/* SPDX-License-Identifier: MIT
 *
 * clock.c: CLOCK_MONOTONIC. */
#include "base/clock.h"

#include <time.h>

uint64_t clock_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

double clock_seconds(void) {
    return (double)clock_nanoseconds() * 1e-9;
}
