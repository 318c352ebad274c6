/* SPDX-License-Identifier: MIT
 *
 * faultlib.c: preloaded into a program, lets its writes to regular files go wrong.
 *   FAULT_WRITE=short    takes at most 7 bytes at a time
 *   FAULT_WRITE=full:N   N bytes fit on the disk; the write that crosses is cut there
 *   FAULT_WRITE=kill:N   the process is killed when N bytes are written, mid-row
 *   FAULT_WRITE=hang     says so on standard error, and never comes back
 *   FAULT_PWRITE=N       the N-th pwrite comes with a SIGINT, or cuts the file to nothing
 *                        that FAULT_TRUNCATE names
 *   FAULT_FSYNC=N        the N-th fsync fails
 *   FAULT_UNLINK=kill    the process is killed when it would remove a file */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SHORT = 7 };

static atomic_llong written, placed, synced;

static int is_regular(int fd) {
    struct stat about;
    return fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
}

/* The limit that FAULT_WRITE gives with this word, or -1. */
static long long limit(const char *word) {
    const char *fault = getenv("FAULT_WRITE");
    size_t size = strlen(word);
    return fault && strncmp(fault, word, size) == 0 ? atoll(fault + size) : -1;
}

ssize_t write(int fd, const void *bytes, size_t size) {
    ssize_t (*real)(int, const void *, size_t) =
        (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    if (!is_regular(fd))
        return real(fd, bytes, size);
    if (limit("hang") >= 0) {
        real(STDERR_FILENO, "hangs\n", strlen("hangs\n"));
        for (;;)
            pause();
    }
    if (limit("short") >= 0 && size > SHORT)
        size = SHORT;
    long long full = limit("full:"), dead = limit("kill:");
    long long most = full >= 0 ? full : dead;
    if (most >= 0 && written + (long long)size > most) {
        size = most > written ? (size_t)(most - written) : 0;
        if (size == 0 && full >= 0) {
            errno = ENOSPC;
            return -1;
        }
        if (dead >= 0) {
            real(fd, bytes, size);
            raise(SIGKILL);
        }
    }
    written += (long long)size;
    return real(fd, bytes, size);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset) {
    ssize_t (*real)(int, const void *, size_t, off_t) =
        (ssize_t(*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
    const char *fault = getenv("FAULT_PWRITE"), *cut = getenv("FAULT_TRUNCATE");
    if (fault && ++placed == atoll(fault) && (!cut || truncate(cut, 0) != 0))
        raise(SIGINT);
    return real(fd, bytes, size, offset);
}

int fsync(int fd) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    const char *fault = getenv("FAULT_FSYNC");
    if (fault && ++synced == atoll(fault)) {
        errno = EIO;
        return -1;
    }
    return real(fd);
}

int unlink(const char *path) {
    int (*real)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "unlink");
    if (getenv("FAULT_UNLINK"))
        raise(SIGKILL);
    return real(path);
}
