/* SPDX-License-Identifier: MIT
 *
 * sink.c: a buffer before write(), and the steps that make a file appear whole or not. */
#include "io/sink.h"

#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 64 * 1024 };

struct sink {
    int fd;
    char *name, *target, *part; /* target, part: NULL unless written as NAME.part */
    bool regular;
    struct buffer held, *memory;
    uint64_t written; /* to fd */
    int failure;      /* errno of the first failure */
};

static void sink_free(struct sink *sink) {
    if (sink->fd > STDOUT_FILENO)
        close(sink->fd);
    buffer_release(&sink->held);
    free(sink->name);
    free(sink->target);
    free(sink->part);
    free(sink);
}

static enum bert_status report(const struct sink *sink, struct bert_error *error) {
    if (!sink->failure)
        return BERT_OK;
    if (sink->failure == ENOMEM)
        return error_memory(error);
    return error_set(error, BERT_IO, "%s: %s", sink->name, strerror(sink->failure));
}

/* Two processes that write one file would mix their rows. The lock is on what was opened,
 * which the other may have renamed meanwhile: then once more. */
static int open_part(const char *part, bool keep) {
    for (;;) {
        int fd = open(part, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (fd < 0)
            return -1;
        struct stat opened, named;
        if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &opened) == 0) {
            bool same = stat(part, &named) == 0 && opened.st_ino == named.st_ino &&
                        opened.st_dev == named.st_dev;
            if (same && (keep || ftruncate(fd, 0) == 0))
                return fd;
            if (!same) {
                close(fd);
                continue;
            }
        }
        int failure = errno;
        close(fd);
        errno = failure;
        return -1;
    }
}

/* Where path leads, through symbolic links; NULL for what is no regular file. */
static char *target_of(const char *path, bool *exists) {
    struct stat about;
    *exists = stat(path, &about) == 0;
    if (*exists && !S_ISREG(about.st_mode))
        return NULL;
    return *exists ? realpath(path, NULL) : strdup(path);
}

char *sink_part_of(const char *path) {
    bool exists;
    char *target = path && strcmp(path, "-") != 0 ? target_of(path, &exists) : NULL;
    if (!target)
        return NULL;
    struct buffer part = {0};
    buffer_add_text(&part, target);
    buffer_add_text(&part, ".part");
    free(target);
    return buffer_text(&part);
}

static int open_named(struct sink *sink, const char *path, bool keep) {
    struct stat about;
    bool exists = stat(path, &about) == 0;
    if (exists && !S_ISREG(about.st_mode))
        return open(path, O_WRONLY | O_CLOEXEC);
    sink->regular = true;
    sink->target = target_of(path, &exists);
    sink->part = sink_part_of(path);
    if (!sink->target || !sink->part) {
        errno = ENOMEM;
        return -1;
    }
    int fd = open_part(sink->part, keep);
    if (fd >= 0 && exists && fchmod(fd, about.st_mode & 07777) < 0)
        errno = 0; /* somebody else's file: its replacement is ours with our mode */
    return fd;
}

enum bert_status sink_open(struct sink **out, const char *path, bool keep,
                           struct bert_error *error) {
    struct sink *sink = calloc(1, sizeof *sink);
    if (!sink)
        return error_memory(error);
    bool standard = !path || strcmp(path, "-") == 0;
    sink->name = strdup(standard ? "standard output" : path);
    sink->fd = STDOUT_FILENO;
    if (sink->name && !standard)
        sink->fd = open_named(sink, path, keep);
    enum bert_status status = BERT_OK;
    if (!sink->name)
        status = error_memory(error);
    else if (sink->fd < 0 && errno == EWOULDBLOCK)
        status =
            error_set(error, BERT_IO, "%s: another process is writing it", sink->part);
    else if (sink->fd < 0)
        status = error_set(error, BERT_IO, "%s: %s", path, strerror(errno));
    if (status)
        sink_free(sink);
    else
        *out = sink;
    return status;
}

enum bert_status sink_open_memory(struct sink **out, struct buffer *buffer,
                                  struct bert_error *error) {
    struct sink *sink = calloc(1, sizeof *sink);
    if (!sink || !(sink->name = strdup("memory"))) {
        free(sink);
        return error_memory(error);
    }
    sink->fd = -1;
    sink->memory = buffer;
    *out = sink;
    return BERT_OK;
}

static void write_all(struct sink *sink, const char *bytes, size_t size) {
    while (size > 0 && !sink->failure) {
        ssize_t put = write(sink->fd, bytes, size);
        if (put < 0 && errno == EAGAIN) { /* a terminal that another program left so */
            poll(&(struct pollfd){.fd = sink->fd, .events = POLLOUT}, 1, -1);
        } else if (put < 0 && errno != EINTR) {
            sink->failure = errno;
        } else if (put > 0) {
            bytes += put;
            size -= (size_t)put;
            sink->written += (uint64_t)put;
        }
    }
}

static void empty(struct sink *sink) {
    write_all(sink, sink->held.data, sink->held.size);
    sink->held.size = 0;
}

void sink_write(struct sink *sink, const void *bytes, size_t size) {
    if (sink->failure)
        return;
    struct buffer *held = sink->memory ? sink->memory : &sink->held;
    if (!sink->memory && held->size + size > BLOCK)
        empty(sink);
    if (!sink->memory && size > BLOCK) {
        write_all(sink, bytes, size);
        return;
    }
    buffer_add(held, bytes, size);
    if (held->failed)
        sink->failure = ENOMEM;
}

void sink_text(struct sink *sink, const char *text) {
    sink_write(sink, text, strlen(text));
}

void sink_no_memory(struct sink *sink) {
    if (!sink->failure)
        sink->failure = ENOMEM;
}

enum bert_status sink_flush(struct sink *sink, struct bert_error *error) {
    empty(sink);
    return report(sink, error);
}

enum bert_status sink_sync(struct sink *sink, struct bert_error *error) {
    empty(sink);
    if (!sink->failure && sink->regular && fsync(sink->fd) < 0)
        sink->failure = errno;
    return report(sink, error);
}

enum bert_status sink_cut(struct sink *sink, uint64_t size, struct bert_error *error) {
    empty(sink);
    struct stat about;
    if (!sink->failure && fstat(sink->fd, &about) < 0)
        sink->failure = errno;
    if (!sink->failure && (uint64_t)about.st_size < size)
        return error_set(error, BERT_IO, "%s: shorter than it was", sink->part);
    if (!sink->failure && (ftruncate(sink->fd, (off_t)size) < 0 ||
                           lseek(sink->fd, (off_t)size, SEEK_SET) < 0))
        sink->failure = errno;
    sink->written = size;
    return report(sink, error);
}

enum bert_status sink_close(struct sink *sink, enum sink_end end,
                            struct bert_error *error) {
    if (end == SINK_DROP && sink->part) {
        unlink(sink->part);
    } else if (end == SINK_COMMIT && sink->part) {
        sink_sync(sink, NULL);
        if (!sink->failure &&
            (rename(sink->part, sink->target) < 0 || path_sync_folder(sink->target) < 0))
            sink->failure = errno;
    } else {
        empty(sink);
    }
    enum bert_status status = report(sink, error);
    sink_free(sink);
    return status;
}

uint64_t sink_offset(const struct sink *sink) {
    return sink->memory ? sink->memory->size : sink->written + sink->held.size;
}

bool sink_reader_gone(const struct sink *sink) {
    return sink->failure == EPIPE;
}

bool sink_failed(const struct sink *sink) {
    return sink->failure != 0;
}
