/* SPDX-License-Identifier: MIT
 *
 * cpu.c: asks the processor and the operating system, once. */
#include "base/cpu.h"

#include "base/bytes.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif
#if defined(__linux__)
#include <sys/syscall.h>
#endif

static struct cpu_features features;
static pthread_once_t once = PTHREAD_ONCE_INIT;

#if defined(__x86_64__)
/* What the operating system saves: without that a register file must not be used. */
static uint64_t saved_state(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low | (uint64_t)high << 32;
}

/* Linux grants the 8 KiB of tile data to a process that asks for them. */
static bool tiles_permitted(void) {
#if defined(__linux__) && defined(SYS_arch_prctl)
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
#else
    return false;
#endif
}

static bool bit(uint32_t word, int index) {
    return word >> index & 1;
}

static void ask_processor(void) {
    uint32_t a, b, c, d, b7, c7, d7, a7_1 = 0, leaves;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !bit(c, 27) /* OSXSAVE */)
        return;
    uint64_t saved = saved_state();
    bool fma = bit(c, 12), f16c = bit(c, 29), avx = bit(c, 28);
    if (!__get_cpuid_count(7, 0, &leaves, &b7, &c7, &d7))
        return;
    if (leaves >= 1)
        __get_cpuid_count(7, 1, &a7_1, &b, &c, &d);
    bool vectors = (saved & 0x6) == 0x6, wide = vectors && (saved & 0xe0) == 0xe0;
    bool tiles = wide && (saved & 0x60000) == 0x60000;
    features.avx2 = vectors && avx && fma && f16c && bit(b7, 5);
    features.sha = features.avx2 && bit(b7, 29);
    features.avxvnni = features.avx2 && bit(a7_1, 4);
    features.avx512 =
        features.avx2 && wide && bit(b7, 16) && bit(b7, 17) && bit(b7, 30) && bit(b7, 31);
    features.avx512vnni = features.avx512 && bit(c7, 11);
    features.amx_int8 =
        features.avx512vnni && tiles && bit(d7, 24) && bit(d7, 25) && tiles_permitted();
}
#elif defined(__aarch64__)
static void ask_processor(void) {
    features.neon = true; /* part of the base architecture */
#if defined(__linux__)
    features.neon_dot = getauxval(AT_HWCAP) & (1ul << 20); /* HWCAP_ASIMDDP */
#elif defined(__APPLE__)
    int has = 0;
    size_t size = sizeof has;
    features.neon_dot =
        sysctlbyname("hw.optional.arm.FEAT_DotProd", &has, &size, NULL, 0) == 0 && has;
#endif
}
#else
static void ask_processor(void) {
}
#endif

static void ask(void) {
    long l2 = -1;
#ifdef _SC_LEVEL2_CACHE_SIZE
    l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
    features.l2_bytes = l2 > 0 ? (size_t)l2 : 1 << 20;
    ask_processor();
}

const struct cpu_features *cpu_features(void) {
    pthread_once(&once, ask);
    return &features;
}

/* Reads up to two numbers; false when there is no such file or it holds neither. A quota
 * of "max" reads as -1. */
static bool read_numbers(const char *path, double *first, double *second) {
    FILE *file = fopen(path, "re");
    char line[100] = "";
    bool read = file != NULL && fgets(line, sizeof line, file) != NULL;
    if (file != NULL)
        fclose(file);
    if (!read)
        return false;
    char *end = line;
    *first = strncmp(line, "max", 3) == 0 ? -1 : strtod(line, &end);
    if (*first < 0)
        return true;
    if (end == line)
        return false;
    *second = strtod(end, NULL);
    return true;
}

/* The quota of one group: cpu.max holds "quota period"; version 1 has a file for each. */
static double group_quota(const char *folder, bool v2) {
    char path[4200];
    double quota = -1, period = 0, unused = 0;
    snprintf(path, sizeof path, "%s/%s", folder, v2 ? "cpu.max" : "cpu.cfs_quota_us");
    if (!read_numbers(path, &quota, &period) || quota <= 0)
        return 0;
    if (!v2) {
        snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
        if (!read_numbers(path, &period, &unused))
            return 0;
    }
    return period > 0 ? quota / period : 0;
}

/* The least quota of a group and those above it. In a container the group's own path may
 * not be visible, while its files stand at the mount itself: the walk ends there. */
static double least_quota(const char *mount, const char *group, bool v2) {
    char folder[4096];
    int length = snprintf(folder, sizeof folder, "%s%s", mount, group);
    if (length < 0 || (size_t)length >= sizeof folder)
        return 0;
    double least = 0;
    for (size_t stop = strlen(mount);;) {
        double quota = group_quota(folder, v2);
        if (quota > 0 && (least == 0 || quota < least))
            least = quota;
        if (strlen(folder) <= stop)
            return least;
        *strrchr(folder, '/') = '\0';
    }
}

static bool names_cpu(const char *controllers) {
    for (const char *at = controllers; *at != '\0';) {
        size_t length = strcspn(at, ",");
        if (length == 3 && strncmp(at, "cpu", 3) == 0)
            return true;
        at += length + (at[length] == ',');
    }
    return false;
}

double cpu_cgroup_quota(const char *file, const char *root) {
    FILE *groups = fopen(file, "re");
    char line[4096], mount[4096];
    double least = 0;
    while (groups != NULL && fgets(line, sizeof line, groups) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':'); /* "4:cpu,cpuacct:/path", "0::/path" */
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (group == NULL || group[1] != '/')
            continue;
        *controllers++ = *group++ = '\0';
        bool v2 = *controllers == '\0';
        if (!v2 && !names_cpu(controllers))
            continue;
        snprintf(mount, sizeof mount, "%.4000s%s", root, v2 ? "" : "/cpu");
        double quota = least_quota(mount, group, v2);
        if (quota > 0 && (least == 0 || quota < least))
            least = quota;
    }
    if (groups != NULL)
        fclose(groups);
    return least;
}

/* The affinity mask grows until the kernel's fits. */
static int affinity_cores(void) {
#if defined(__linux__)
    for (int cores = 1024; cores <= 1 << 20; cores *= 2) {
        cpu_set_t *set = CPU_ALLOC(cores);
        size_t size = CPU_ALLOC_SIZE(cores);
        if (set == NULL)
            break;
        int failure = sched_getaffinity(0, size, set) == 0 ? 0 : errno;
        int count = failure ? 0 : CPU_COUNT_S(size, set);
        CPU_FREE(set);
        if (count > 0)
            return count;
        if (failure != EINVAL)
            break;
    }
#endif
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

int cpu_usable_cores(void) {
    int cores = affinity_cores();
    double quota = 0;
#if defined(__linux__)
    quota = cpu_cgroup_quota("/proc/self/cgroup", "/sys/fs/cgroup");
#endif
    return quota > 0 && ceil(quota) < cores ? (int)ceil(quota) : cores;
}
