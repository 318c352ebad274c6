/* SPDX-License-Identifier: MIT
 *
 * bench_peak.h: what this machine could do at best, to hold the measured speeds against.
 */
#ifndef BENCH_PEAK_H
#define BENCH_PEAK_H

#include <stddef.h>

double bench_seconds(void);

/* Operations a second (a multiply-add counts as two) of this thread in registers alone:
 * float fma, and u8·s8 dot products. 0 where there is no such instruction to measure. */
double bench_peak_f32(void);
double bench_peak_int8(void);

/* Touches each line of size bytes, as fast as they can be read; returns the seconds. */
double bench_read(const void *bytes, size_t size);

#endif
