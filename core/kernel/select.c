/* SPDX-License-Identifier: MIT
 *
 * select.c: which table this machine runs. */
#include "base/cpu.h"
#include "kernel/tables.h"

#include <string.h>

static bool always(const struct cpu_features *cpu) {
    return true;
}
static bool has_blis(const struct cpu_features *cpu) {
    return blis_available();
}

#if defined(__x86_64__)
static bool has_avx2(const struct cpu_features *cpu) {
    return cpu->avx2;
}
static bool has_avxvnni(const struct cpu_features *cpu) {
    return cpu->avx2 && cpu->avxvnni;
}
static bool has_avx512(const struct cpu_features *cpu) {
    return cpu->avx2 && cpu->avx512;
}
static bool has_avx512vnni(const struct cpu_features *cpu) {
    return has_avx512(cpu) && cpu->avx512vnni;
}
static bool has_amx(const struct cpu_features *cpu) {
    return has_avx512vnni(cpu) && cpu->amx_int8;
}
#define X86(name) \
    { #name, &kernel_##name, has_##name }
#else
#define X86(name) \
    { #name, NULL, NULL }
#endif

#if defined(__aarch64__)
static bool has_neon(const struct cpu_features *cpu) {
    return cpu->neon;
}
static bool has_neondot(const struct cpu_features *cpu) {
    return cpu->neon && cpu->neon_dot;
}
#define ARM(name) \
    { #name, &kernel_##name, has_##name }
#else
#define ARM(name) \
    { #name, NULL, NULL }
#endif

static const struct choice {
    const char *name;
    const struct kernel_table *table; /* NULL: of another architecture */
    bool (*runs)(const struct cpu_features *cpu);
} choices[] = {
    /* the best first */
    X86(amx),
    X86(avx512vnni),
    X86(avxvnni),
    X86(avx512),
    X86(avx2),
    ARM(neondot),
    ARM(neon),
    {"blis", &kernel_blis, has_blis},
    {"reference", &kernel_reference, always},
};
enum { CHOICES = sizeof choices / sizeof choices[0] };

const struct kernel_table *kernel_select(const char *name) {
    for (int i = 0; i < CHOICES; i++) {
        const struct choice *choice = &choices[i];
        if (name && strcmp(name, choice->name))
            continue;
        if (choice->table && choice->runs(cpu_features()))
            return choice->table;
    }
    return NULL;
}

const char *kernel_name(int i) {
    return i >= 0 && i < CHOICES ? choices[i].name : NULL;
}
