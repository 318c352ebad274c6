/* SPDX-License-Identifier: MIT
 *
 * kernel_hash.c: prints a line for each table without third-party parts that this machine
 * runs, its name and a hash of everything that it answers to kernel_cases.h. The same
 * hash on two architectures means the same bits. */
#include "base/cpu.h"
#include "kernel_cases.h"

static int print_hash(const struct kernel_table *table) {
    struct record record = {0};
    cases_record(&record, table);
    if (record.bits.failed || record.alone) {
        fprintf(stderr, "%s: a part or a row alone differs\n", table->name);
        return 1;
    }
    printf("%s %016llx\n", table->name,
           (unsigned long long)hash_bytes(HASH_SEED, record.bits.data, record.bits.size));
    record_release(&record);
    return 0;
}

int main(void) {
    int failed = print_hash(&kernel_reference);
#if defined(__aarch64__)
    failed |= print_hash(&kernel_neon);
    if (cpu_features()->neon_dot)
        failed |= print_hash(&kernel_neondot);
#endif
    return failed;
}
