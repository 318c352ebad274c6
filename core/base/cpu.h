/* SPDX-License-Identifier: MIT
 *
 * cpu.h: what this processor can do and how much of it we may use. */
#ifndef BASE_CPU_H
#define BASE_CPU_H

#include <stdbool.h>
#include <stddef.h>

struct cpu_features { /* usable: the operating system saves the registers too */
    bool avx2;        /* AVX2, FMA and F16C */
    bool avxvnni;
    bool avx512; /* F, BW, DQ, VL */
    bool avx512vnni;
    bool amx_int8; /* tiles, int8, and permission from the kernel */
    bool neon, neon_dot;
    bool sha; /* SHA-256 of x86 */
    size_t l2_bytes; /* of one core; a sensible guess when unknown */
};
const struct cpu_features *cpu_features(void);

/* Cores by affinity and cgroup quota (v1 and v2, rounded up), at least 1. */
int cpu_usable_cores(void);

/* Cores granted by a cgroup quota, or 0 where there is none: the least along the groups
 * that file (as /proc/self/cgroup) names, from the mounts under root (/sys/fs/cgroup). */
double cpu_cgroup_quota(const char *file, const char *root);

#endif
