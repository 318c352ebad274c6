/* SPDX-License-Identifier: MIT
 *
 * access_log.c: one buffer that callers fill and one that the thread writes, swapped. */
#include "service/access_log.h"

#include "base/utf8.h"
#include "io/json.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

enum { LOG_ROOM = 1 << 20, SHOWN_METHOD = 20, SHOWN_PATH = 200, SHOWN_TEXT = 2000 };

struct access_log {
    int file;
    bool json, quiet;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t filled;
    struct buffer waiting;
    size_t dropped;
    bool ending;
};

static void put_time(struct buffer *out) {
    struct timespec now;
    struct tm parts;
    char text[32];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    buffer_printf(out, "%s.%03ldZ", text, now.tv_nsec / 1000000);
}

/* For a terminal: controls, blanks and what is not UTF-8 as \xNN. */
static void put_plain(struct buffer *out, struct span text, size_t most) {
    for (size_t i = 0; i < text.size;) {
        uint32_t codepoint = 0;
        size_t bad = 1,
               length = utf8_decode(text.data + i, text.size - i, &codepoint, &bad);
        if (i >= most) {
            buffer_add_text(out, "...");
            return;
        }
        if (length && codepoint > 0x20 && !(codepoint >= 0x7f && codepoint < 0xa0) &&
            codepoint != 0x2028 && codepoint != 0x2029)
            buffer_add(out, text.data + i, length);
        else
            for (size_t j = 0; j < (length ? length : bad); j++)
                buffer_printf(out, "\\x%02X", (unsigned char)text.data[i + j]);
        i += length ? length : bad;
    }
}

static struct span cut(struct span text, size_t most) {
    if (text.size > most) {
        text.size = most;
        while (text.size && ((unsigned char)text.data[text.size] & 0xc0) == 0x80)
            text.size--;
    }
    return text;
}

static void put_human(struct buffer *out, const struct access_entry *entry) {
    put_time(out);
    buffer_printf(out, " %s ", entry->peer);
    put_plain(out, span_of(entry->method), SHOWN_METHOD);
    buffer_add_byte(out, ' ');
    put_plain(out, entry->path, SHOWN_PATH);
    buffer_printf(out, " %u%s %.2fms in=%llu out=%llu", entry->status,
                  entry->complete ? "" : " (client left)", 1e3 * entry->seconds,
                  (unsigned long long)entry->received, (unsigned long long)entry->sent);
    if (entry->model_part)
        buffer_printf(out, " %s", entry->model_part);
    if (entry->text.size) {
        buffer_add_byte(out, ' ');
        put_plain(out, entry->text, SHOWN_TEXT);
    }
}

static void put_json(struct buffer *out, const struct access_entry *entry) {
    buffer_add_text(out, "{\"time\":\"");
    put_time(out);
    buffer_printf(out, "\",\"peer\":\"%s\",\"method\":", entry->peer);
    struct span method = cut(span_of(entry->method), SHOWN_METHOD);
    struct span path = cut(entry->path, SHOWN_PATH), text = cut(entry->text, SHOWN_TEXT);
    json_put_text(out, method.data, method.size);
    buffer_add_text(out, ",\"path\":");
    json_put_text(out, path.data, path.size);
    buffer_printf(out,
                  ",\"status\":%u,\"complete\":%s,\"seconds\":%.6f,\"received\":%llu,"
                  "\"sent\":%llu",
                  entry->status, entry->complete ? "true" : "false", entry->seconds,
                  (unsigned long long)entry->received, (unsigned long long)entry->sent);
    if (entry->model_part)
        buffer_printf(out, ",\"work\":\"%s\"", entry->model_part);
    if (text.size) {
        buffer_add_text(out, ",\"text\":");
        json_put_text(out, text.data, text.size);
    }
    buffer_add_byte(out, '}');
}

/* Takes the line's memory over. */
static void push(struct access_log *log, struct buffer *line) {
    buffer_add_byte(line, '\n');
    pthread_mutex_lock(&log->lock);
    if (line->failed || line->size > LOG_ROOM - log->waiting.size) {
        log->dropped++;
    } else {
        bool asleep = log->waiting.size == 0;
        buffer_add(&log->waiting, line->data, line->size);
        if (asleep)
            pthread_cond_signal(&log->filled);
    }
    pthread_mutex_unlock(&log->lock);
    buffer_release(line);
}

void access_log_entry(struct access_log *log, const struct access_entry *entry) {
    if (log->quiet)
        return;
    struct buffer line = {0};
    (log->json ? put_json : put_human)(&line, entry);
    push(log, &line);
}

void access_log_note(struct access_log *log, const char *format, ...) {
    char text[800];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    struct buffer line = {0};
    if (log->json) {
        buffer_add_text(&line, "{\"time\":\"");
        put_time(&line);
        buffer_add_text(&line, "\",\"note\":");
        json_put_text(&line, text, strlen(text));
        buffer_add_byte(&line, '}');
    } else {
        buffer_printf(&line, "bert-serve: %s", text);
    }
    push(log, &line);
}

/* Gives up when the reader is gone, or still stands a second after we began to end. */
static void write_all(struct access_log *log, const char *bytes, size_t size) {
    while (size) {
        pthread_mutex_lock(&log->lock);
        bool ending = log->ending;
        pthread_mutex_unlock(&log->lock);
        struct pollfd ready = {.fd = log->file, .events = POLLOUT};
        int state = poll(&ready, 1, 1000);
        if (state == 0 && ending)
            return;
        if (state <= 0)
            continue;
        /* A pipe takes up to 4096 bytes without blocking once it is ready. */
        ssize_t count = write(log->file, bytes, size < 4096 ? size : 4096);
        if (count < 0 && errno != EINTR && errno != EAGAIN)
            return;
        if (count > 0) {
            bytes += count;
            size -= (size_t)count;
        }
    }
}

static void *write_lines(void *arg) {
    struct access_log *log = arg;
    struct buffer writing = {0};
    bool ending = false;
    while (!ending) {
        pthread_mutex_lock(&log->lock);
        while (log->waiting.size == 0 && !log->ending)
            pthread_cond_wait(&log->filled, &log->lock);
        struct buffer full = log->waiting;
        log->waiting = writing;
        ending = log->ending;
        size_t dropped = log->dropped;
        log->dropped = 0;
        pthread_mutex_unlock(&log->lock);
        if (dropped)
            buffer_printf(&full, "bert-serve: %zu log lines found no room\n", dropped);
        write_all(log, full.data, full.size);
        full.size = 0;
        writing = full;
    }
    buffer_release(&writing);
    return NULL;
}

enum bert_status access_log_new(struct access_log **log, int file, bool json, bool quiet,
                                struct bert_error *error) {
    struct access_log *made = calloc(1, sizeof *made);
    if (!made)
        return error_memory(error);
    made->file = file;
    made->json = json;
    made->quiet = quiet;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->filled, NULL);
    if (pthread_create(&made->thread, NULL, write_lines, made) != 0) {
        free(made);
        return error_set(error, BERT_INTERNAL, "cannot start a thread");
    }
    *log = made;
    return BERT_OK;
}

void access_log_free(struct access_log *log) {
    if (!log)
        return;
    pthread_mutex_lock(&log->lock);
    log->ending = true;
    pthread_cond_signal(&log->filled);
    pthread_mutex_unlock(&log->lock);
    pthread_join(log->thread, NULL);
    buffer_release(&log->waiting);
    pthread_mutex_destroy(&log->lock);
    pthread_cond_destroy(&log->filled);
    free(log);
}
