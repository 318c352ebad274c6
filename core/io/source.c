/* SPDX-License-Identifier: MIT
 *
 * source.c: bytes go from the descriptor straight into the window while they are UTF-8,
 * and through raw while the encoding is open or GB18030. */
#include "io/source.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

enum { BLOCK = 128 * 1024, START = 4096 };

struct source {
    int fd; /* -1: memory */
    char *name;
    struct span memory; /* what is left of it */
    struct source_options options;
    enum encoding encoding; /* AUTO: open */
    struct decoder *decoder;
    struct buffer raw;  /* read, not yet in the window */
    struct buffer text; /* the window is text from at */
    size_t at;
    uint64_t taken;
    bool begun, ended, stopped;
};

static enum bert_status source_new(struct source **out, const char *name,
                                   const struct source_options *options,
                                   struct bert_error *error) {
    struct source *source = calloc(1, sizeof *source);
    if (!source)
        return error_memory(error);
    source->fd = -1;
    source->name = strdup(name);
    if (options)
        source->options = *options;
    source->encoding = source->options.encoding;
    if (!source->name) {
        source_close(source);
        return error_memory(error);
    }
    *out = source;
    return BERT_OK;
}

enum bert_status source_open(struct source **out, const char *path,
                             const struct source_options *options,
                             struct bert_error *error) {
    bool standard = strcmp(path, "-") == 0;
    struct source *source;
    enum bert_status status =
        source_new(&source, standard ? "standard input" : path, options, error);
    if (status)
        return status;
    source->fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (source->fd < 0) {
        status = error_set(error, BERT_IO, "%s: %s", source->name, strerror(errno));
        source_close(source);
        return status;
    }
    *out = source;
    return BERT_OK;
}

enum bert_status source_open_memory(struct source **out, const char *bytes, size_t size,
                                    const struct source_options *options,
                                    struct bert_error *error) {
    enum bert_status status = source_new(out, "the file", options, error);
    if (status)
        return status;
    (*out)->memory = (struct span){bytes, size};
    return BERT_OK;
}

void source_close(struct source *source) {
    if (!source)
        return;
    if (source->fd > STDIN_FILENO)
        close(source->fd);
    decoder_free(source->decoder);
    buffer_release(&source->raw);
    buffer_release(&source->text);
    free(source->name);
    free(source);
}

/* Whether a read would return at once; waits for that when asked to. */
static bool ready(struct source *source, bool wait) {
    if (source->fd < 0)
        return true;
    struct pollfd wanted[2] = {{.fd = source->fd, .events = POLLIN},
                               {.fd = source->options.stop_fd, .events = POLLIN}};
    nfds_t count = source->options.stop_fd > 0 ? 2 : 1;
    int result;
    do
        result = poll(wanted, count, wait ? -1 : 0);
    while (result < 0 && errno == EINTR && wait);
    if (count == 2 && (wanted[1].revents & POLLIN))
        source->stopped = source->ended = true;
    return result != 0; /* a failed poll leaves the word to read() */
}

/* One read, appended to out. */
static enum bert_status take(struct source *source, struct buffer *out,
                             struct bert_error *error) {
    if (!ready(source, false)) {
        if (source->options.waiting)
            source->options.waiting(source->options.waiting_arg);
        ready(source, true);
    }
    if (source->ended)
        return BERT_OK;
    if (!buffer_reserve(out, BLOCK))
        return error_memory(error);
    ssize_t got;
    if (source->fd < 0) {
        got = source->memory.size < BLOCK ? (ssize_t)source->memory.size : BLOCK;
        if (got > 0)
            memcpy(out->data + out->size, source->memory.data, (size_t)got);
        source->memory.data += got;
        source->memory.size -= (size_t)got;
    } else {
        got = read(source->fd, out->data + out->size, BLOCK);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            return BERT_OK; /* the caller asks again */
        if (got < 0)
            return error_set(error, BERT_IO, "%s: %s", source->name, strerror(errno));
    }
    source->ended = got == 0;
    source->taken += (uint64_t)got;
    out->size += (size_t)got;
    return BERT_OK;
}

static void drop_raw(struct source *source, size_t size) {
    if (size == 0)
        return;
    source->raw.size -= size;
    memmove(source->raw.data, source->raw.data + size, source->raw.size);
}

/* Takes off the byte-order mark. False: more bytes are needed to know. */
static bool begin(struct source *source, bool *refused, struct bert_error *error) {
    static const struct {
        const char *mark;
        size_t size;
        enum encoding encoding;
    } marks[] = {{"\xef\xbb\xbf", 3, ENCODING_UTF8},
                 {"\x84\x31\x95\x33", 4, ENCODING_GB18030}};
    struct buffer *raw = &source->raw;
    if (raw->size == 0 || (raw->size == 1 && (unsigned char)raw->data[0] >= 0xfe))
        return source->ended;
    bool open = source->encoding == ENCODING_AUTO;
    /* Told the encoding, NUL bytes are data; only a byte-order mark speaks against it. */
    size_t sample = open && raw->size > 4 ? (raw->size < START ? raw->size : START) : 4;
    const char *what =
        encoding_refused(raw->data, sample < raw->size ? sample : raw->size);
    if (what) {
        *refused = true;
        error_set(error, BERT_USAGE, "%s is %s; convert it first: iconv -f %.*s -t UTF-8",
                  source->name, what, (int)strcspn(what, " "), what);
        return true;
    }
    for (size_t i = 0; i < 2; i++) {
        if (!open && source->encoding != marks[i].encoding)
            continue;
        size_t size = raw->size < marks[i].size ? raw->size : marks[i].size;
        if (memcmp(raw->data, marks[i].mark, size) != 0)
            continue;
        if (size < marks[i].size)
            return source->ended;
        source->encoding = marks[i].encoding;
        drop_raw(source, size);
        break;
    }
    return true;
}

/* Moves what can be understood from raw to the window. */
static enum bert_status settle(struct source *source, struct bert_error *error) {
    struct buffer *raw = &source->raw;
    bool refused = false;
    if (!source->begun && !(source->begun = begin(source, &refused, error)))
        return BERT_OK;
    if (refused)
        return BERT_USAGE;
    if (source->encoding == ENCODING_AUTO) {
        size_t plain = 0;
        while (plain < raw->size && (unsigned char)raw->data[plain] < 0x80)
            plain++;
        buffer_add(&source->text, raw->data, plain);
        drop_raw(source, plain);
        bool more = !source->ended && raw->size < ENCODING_SAMPLE && ready(source, false);
        if (raw->size == 0 || (more && !source->ended))
            return source->text.failed ? error_memory(error) : BERT_OK;
        source->encoding = encoding_guess(
            raw->data, raw->size < ENCODING_SAMPLE ? raw->size : ENCODING_SAMPLE);
    }
    if (source->encoding == ENCODING_UTF8) {
        buffer_add(&source->text, raw->data, raw->size);
        raw->size = 0;
    } else {
        if (!source->decoder && decoder_new(&source->decoder, error))
            return error ? error->status : BERT_INTERNAL;
        size_t used = decoder_run(source->decoder, raw->data, raw->size, source->ended,
                                  &source->text);
        drop_raw(source, used);
    }
    return source->text.failed ? error_memory(error) : BERT_OK;
}

enum bert_status source_window(struct source *source, size_t want, struct span *window,
                               struct bert_error *error) {
    struct buffer *text = &source->text;
    while (text->size - source->at < want && !source->ended) {
        if (source->at >
            0) { /* at most once a read: the rest is the start of one record */
            text->size -= source->at;
            memmove(text->data, text->data + source->at, text->size);
            source->at = 0;
        }
        bool direct = source->begun && source->encoding == ENCODING_UTF8;
        enum bert_status status = take(source, direct ? text : &source->raw, error);
        if (!status && !direct)
            status = settle(source, error);
        if (status)
            return status;
    }
    *window =
        (struct span){text->data ? text->data + source->at : "", text->size - source->at};
    return BERT_OK;
}

void source_consume(struct source *source, size_t size) {
    source->at += size;
}

uint64_t source_taken(const struct source *source) {
    return source->taken;
}

bool source_stopped(const struct source *source) {
    return source->stopped;
}

enum encoding source_encoding(const struct source *source) {
    return source->encoding;
}
