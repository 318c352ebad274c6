/* SPDX-License-Identifier: MIT
 *
 * scratch.h: a temporary folder for a test of readers, and files written into it. */
#ifndef TESTS_SCRATCH_H
#define TESTS_SCRATCH_H

#include "base/bytes.h"
#include "base/path.h"

#include <check.h>
#include <dirent.h>
#include <unistd.h>

static char scratch[64];

static inline void scratch_begin(void) {
    snprintf(scratch, sizeof scratch, "/tmp/bert-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(scratch));
}

static inline void scratch_end(void) {
    DIR *stream = opendir(scratch);
    for (struct dirent *entry; stream && (entry = readdir(stream)) != NULL;) {
        char *path = path_join(scratch, entry->d_name);
        unlink(path);
        free(path);
    }
    closedir(stream);
    rmdir(scratch);
}

/* Free the result. */
static inline char *scratch_path(const char *name) {
    return path_join(scratch, name);
}

static inline void scratch_write(const char *name, const void *bytes, size_t size) {
    char *path = scratch_path(name);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
    free(path);
}

static inline void scratch_write_text(const char *name, const char *text) {
    scratch_write(name, text, strlen(text));
}

/* The whole of a file; release it. */
static inline struct buffer scratch_read(const char *path) {
    struct buffer bytes = {0};
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "%s", path);
    char part[65536];
    for (size_t got; (got = fread(part, 1, sizeof part, file)) > 0;)
        buffer_add(&bytes, part, got);
    fclose(file);
    return bytes;
}

static inline void scratch_copy(const char *from, const char *name) {
    struct buffer bytes = scratch_read(from);
    scratch_write(name, bytes.data, bytes.size);
    buffer_release(&bytes);
}

#endif
