/* SPDX-License-Identifier: MIT
 *
 * select.c: which table this machine runs. */
#include "base/cpu.h"
#include "kernel/tables.h"

#include <string.h>

static bool always(const struct cpu_features *cpu) {
    return true;
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
#define X86(name) {#name, &kernel_##name, has_##name}
#else
#define X86(name) {#name, NULL, NULL}
#endif

static const struct choice {
    const char *name;
    const struct kernel_table *table; /* NULL: of another architecture */
    bool (*runs)(const struct cpu_features *cpu);
} choices[] = {
    /* the best first */
    {"amx", NULL, NULL}, X86(avx512vnni), X86(avxvnni), X86(avx512), X86(avx2),
    {"neondot", NULL, NULL}, {"neon", NULL, NULL},
    {"blis", NULL, NULL},
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
