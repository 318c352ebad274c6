/* SPDX-License-Identifier: MIT
 *
 * mapping.c: opens files whole. A fault inside a mapping can only be told from a defect
 * by looking the address up, so live mappings stand in a small table that the signal
 * handler reads without locks. */
#include "base/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIVE_MAX = 256, ALIGNMENT = 64 /* what kernels may ask of weights */ };

/* data is set last and cleared first: the handler sees whole entries or none. A file past
 * the table's end merely keeps the default action of its faults. */
static struct live {
    atomic_bool taken;
    _Atomic(const unsigned char *) data;
    size_t size;
    char *name;
} live[LIVE_MAX];

static char guard_program[64];

static void register_live(const struct mapping *mapping, const char *path) {
    struct bert_error escaped;
    error_set(&escaped, BERT_OK, "%s", path);
    for (int i = 0; i < LIVE_MAX; i++) {
        if (atomic_exchange(&live[i].taken, true))
            continue;
        live[i].size = mapping->size;
        live[i].name = strdup(escaped.message);
        atomic_store(&live[i].data, mapping->data);
        return;
    }
}

static void forget_live(const struct mapping *mapping) {
    for (int i = 0; i < LIVE_MAX; i++) {
        const unsigned char *expected = mapping->data;
        if (atomic_compare_exchange_strong(&live[i].data, &expected, NULL)) {
            free(live[i].name);
            live[i].name = NULL;
            atomic_store(&live[i].taken, false);
            return;
        }
    }
}

static void say(const char *text) {
    ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
    (void)ignored; /* the exit status tells the rest */
}

static void on_bus_error(int number, siginfo_t *info, void *context) {
    uintptr_t address = (uintptr_t)info->si_addr;
    for (int i = 0; info->si_code > 0 && i < LIVE_MAX; i++) {
        uintptr_t begin = (uintptr_t)atomic_load(&live[i].data);
        if (begin == 0 || address < begin || address - begin >= live[i].size)
            continue;
        say(guard_program);
        say(": ");
        say(live[i].name ? live[i].name : "a model file");
        say(": the file was cut short or cannot be read while it is in use\n");
        _exit(BERT_MODEL);
    }
    signal(number, SIG_DFL);
    raise(number); /* pending until this returns, and then fatal */
}

void mapping_guard(const char *program) {
    snprintf(guard_program, sizeof guard_program, "%s", program);
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}

static enum bert_status read_whole(struct mapping *mapping, int file, const char *path,
                                   struct bert_error *error) {
    void *data = NULL;
    if (posix_memalign(&data, ALIGNMENT, mapping->size + 1) != 0)
        return error_memory(error);
    size_t done = 0;
    while (done < mapping->size) {
        ssize_t got = read(file, (char *)data + done, mapping->size - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            free(data);
            return error_set(error, BERT_IO, "%s: %s", path,
                             got < 0 ? strerror(errno) : "cut short while being read");
        }
        done += (size_t)got;
    }
    mapping->data = data;
    return BERT_OK;
}

static enum bert_status map_or_read(struct mapping *mapping, int file, const char *path,
                                    bool no_mmap, struct bert_error *error) {
    struct stat stat;
    if (fstat(file, &stat) != 0)
        return error_set(error, BERT_IO, "%s: %s", path, strerror(errno));
    if (S_ISDIR(stat.st_mode))
        return error_set(error, BERT_MODEL, "%s: is a folder", path);
    if (!S_ISREG(stat.st_mode))
        return error_set(error, BERT_MODEL, "%s: not a regular file", path);
    if ((uintmax_t)stat.st_size >= PTRDIFF_MAX)
        return error_set(error, BERT_MODEL, "%s: too large", path);
    mapping->size = (size_t)stat.st_size;
    if (!no_mmap && mapping->size > 0) {
        void *data = mmap(NULL, mapping->size, PROT_READ, MAP_SHARED, file, 0);
        if (data != MAP_FAILED) {
            mapping->data = data;
            mapping->mapped = true;
            register_live(mapping, path);
            return BERT_OK;
        }
    }
    return read_whole(mapping, file, path, error); /* some file systems cannot map */
}

enum bert_status mapping_open(struct mapping *mapping, const char *path, bool no_mmap,
                              struct bert_error *error) {
    *mapping = (struct mapping){0};
    /* O_NONBLOCK: opening a pipe that nobody writes must not hang. */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return error_set(error,
                         errno == ENOENT || errno == ENOTDIR ? BERT_MODEL : BERT_IO,
                         "%s: %s", path, strerror(errno));
    enum bert_status status = map_or_read(mapping, file, path, no_mmap, error);
    close(file);
    if (status != BERT_OK)
        *mapping = (struct mapping){0};
    return status;
}

void mapping_close(struct mapping *mapping) {
    if (mapping->mapped) {
        forget_live(mapping);
        munmap((void *)(uintptr_t)mapping->data, mapping->size);
    } else
        free((void *)(uintptr_t)mapping->data);
    *mapping = (struct mapping){0};
}
