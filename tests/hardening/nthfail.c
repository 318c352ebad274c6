/* SPDX-License-Identifier: MIT
 *
 * nthfail.c: preloaded into a program, makes the FAIL_NTH-th call of FAIL_CALL (open,
 * read, write, close, fsync, malloc, mmap, each with its kin) fail once. Without FAIL_NTH it writes the
 * number of calls into the file FAIL_COUNT when the program ends. Calls inside libc are
 * not seen. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_long calls;
static long nth;
static const char *wanted;

__attribute__((constructor)) static void begin(void) {
    const char *number = getenv("FAIL_NTH");
    nth = number ? atol(number) : 0;
    wanted = getenv("FAIL_CALL");
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("FAIL_COUNT");
    long count = calls;
    wanted = NULL;
    FILE *file = path && nth == 0 ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "%ld\n", count);
        fclose(file);
    }
}

static int fails(const char *name, int why) {
    if (!wanted || strcmp(wanted, name) != 0 || ++calls != nth)
        return 0;
    errno = why;
    return 1;
}

int open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, int) : 0;
    va_end(more);
    int (*real)(const char *, int, ...) =
        (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    return fails("open", EIO) ? -1 : real(path, flags, mode);
}

/* libmicrohttpd ends the process when an eventfd of its own cannot be written: that does
 * not happen, and is not ours. */
static int is_eventfd(int fd) {
    struct stat about;
    return fstat(fd, &about) == 0 && (about.st_mode & S_IFMT) == 0;
}

ssize_t read(int fd, void *bytes, size_t size) {
    ssize_t (*real)(int, void *, size_t) =
        (ssize_t(*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
    return fails("read", EIO) ? -1 : real(fd, bytes, size);
}

ssize_t write(int fd, const void *bytes, size_t size) {
    ssize_t (*real)(int, const void *, size_t) =
        (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    return !is_eventfd(fd) && fails("write", ENOSPC) ? -1 : real(fd, bytes, size);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at) {
    ssize_t (*real)(int, const void *, size_t, off_t) =
        (ssize_t(*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
    return fails("write", ENOSPC) ? -1 : real(fd, bytes, size, at);
}

int close(int fd) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "close");
    int status = real(fd);
    return fails("close", EIO) ? -1 : status;
}

int fsync(int fd) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    return fails("fsync", EIO) ? -1 : real(fd);
}

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
    void *(*real)(void *, size_t, int, int, int, off_t) =
        (void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
    return fails("mmap", ENOMEM) ? MAP_FAILED
                                 : real(at, size, protection, flags, fd, offset);
}

/* glibc's own names: dlsym would itself allocate. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size) {
    return fails("malloc", ENOMEM) ? NULL : __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
    return fails("malloc", ENOMEM) ? NULL : __libc_calloc(count, size);
}
void *realloc(void *old, size_t size) {
    return fails("malloc", ENOMEM) ? NULL : __libc_realloc(old, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
    return fails("malloc", ENOMEM) ? NULL : __libc_memalign(alignment, size);
}
int posix_memalign(void **memory, size_t alignment, size_t size) {
    void *got = fails("malloc", ENOMEM) ? NULL : __libc_memalign(alignment, size);
    if (got)
        *memory = got;
    return got ? 0 : ENOMEM;
}
