/* SPDX-License-Identifier: MIT
 *
 * clock.h: the monotonic clock, for what is measured and for what ends in time. Its zero
 * is arbitrary; only differences mean anything. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

double clock_seconds(void);
uint64_t clock_nanoseconds(void); /* no system call where there is a vDSO */

#endif
