/* SPDX-License-Identifier: MIT
 *
 * fuzz_file.h: for readers that open files: a file in memory with a path, rewritten for
 * each input. */
#ifndef TESTS_FUZZ_FILE_H
#define TESTS_FUZZ_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The path of a file that holds these bytes, until the next call. */
static inline const char *fuzz_file(const uint8_t *data, size_t size) {
    static int file = -1;
    static char path[64];
    if (file < 0)
        file = memfd_create("fuzz", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, 0) != 0 ||
        pwrite(file, data, size, 0) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    return path;
}

#endif
