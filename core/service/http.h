/* SPDX-License-Identifier: MIT
 *
 * http.h: HTTP/1.1 over one listening socket. One thread serves all connections (epoll
 * where there is one); a call that waits for something else is set aside and answered
 * from any thread, so the hooks never block.
 *
 * A call's life, all hooks on the server's thread:
 *
 *     begin   the headers are here. May answer at once (then the body is never read and
 *             the connection closes) or set body_limit and least_rate
 *     handle  the body is complete. Answers, or calls http_wait first and then lets
 *             any thread answer, later, once
 *     finish  the answer has left, or the client has; the call is freed afterwards */
#ifndef SERVICE_HTTP_H
#define SERVICE_HTTP_H

#include "base/bytes.h"
#include "base/status.h"
#include "service/target.h"

struct http_server;

struct http_call {
    const char *method;
    struct span raw_target;
    struct target target; /* for the owner of the hooks to parse; released here */
    struct buffer body;
    size_t body_limit;   /* bytes, after chunks are decoded */
    size_t least_rate;   /* of the body in bytes a second, over each stretch as long as a
                            connection may be idle; what is slower is cut off. 0: none */
    bool body_too_large; /* more came (chunked): body is empty, answer 413 */
    bool has_length;     /* length is the Content-Length */
    uint64_t length;
    uint64_t received; /* bytes of the body so far, after chunks are decoded */
    char peer[64];     /* "127.0.0.1:5000", "[::1]:5000" or "unix" */
    double started;    /* seconds of the monotonic clock */
    unsigned status;   /* of the answer; 0 before */
    uint64_t sent;     /* bytes of the answer's body, for the log */
    void *context;     /* the hooks' own; they release it in finish */
};

struct http_hooks {
    void (*begin)(void *arg, struct http_call *call);
    void (*handle)(void *arg, struct http_call *call);
    void (*finish)(void *arg, struct http_call *call, bool complete);
    void *arg;
};

struct http_options {
    int listener;   /* a listening socket, owned by the server from now on */
    bool inherited; /* the service manager keeps listening on it when we stop */
    unsigned max_connections;
    unsigned idle_seconds; /* a connection with no byte either way is closed */
    struct http_hooks hooks;
};

enum bert_status http_start(struct http_server **server,
                            const struct http_options *options, struct bert_error *error);
/* No connection is accepted any more, and every answer closes its own. */
void http_stop_accepting(struct http_server *server);
/* Calls begun and not finished. */
size_t http_calls(const struct http_server *server);
/* Every waiting call must have been answered. */
void http_free(struct http_server *server);

/* A request header's value, or NULL; where it stands twice, the first. */
const char *http_header(struct http_call *call, const char *name);
size_t http_header_count(struct http_call *call, const char *name);

/* Adds a header to the answer to come; name is static, value is copied. */
void http_add_header(struct http_call *call, const char *name, const char *value);
/* type is static or NULL (no body). The body's bytes are taken over; body is empty
 * afterwards. NULL: none. */
void http_answer(struct http_call *call, unsigned status, const char *type,
                 struct buffer *body);
/* The connection closes after the answer. */
void http_close_after(struct http_call *call);

struct http_source { /* an answer that is made while it is sent */
    /* Fills at most room bytes: how many; 0 after it called http_wait; HTTP_END;
     * HTTP_ABORT cuts the connection, so that the client sees that something is missing.
     */
    ptrdiff_t (*read)(void *arg, char *out, size_t room);
    void (*close)(void *arg); /* always called once, also when the client left */
    void *arg;
};
enum { HTTP_END = -1, HTTP_ABORT = -2 };
void http_stream(struct http_call *call, unsigned status, const char *type,
                 const struct http_source *source);

/* Sets the call aside until http_answer or http_stream (in handle) or http_wake (in
 * read). Only on the server's thread. */
void http_wait(struct http_call *call);
void http_wake(struct http_call *call);

/* Whether the client of a waiting call is gone for certain (reset, not merely done with
 * sending), so that nobody would read the answer. */
bool http_gone(const struct http_call *call);

#endif
