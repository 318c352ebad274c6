/* SPDX-License-Identifier: MIT
 *
 * http.c: the one file that knows the HTTP library (libmicrohttpd). Answers are kept in
 * the exchange and queued by the library's own thread, which alone may touch a
 * connection. */
#include "service/http.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { HEADER_ROOM = 12, STREAM_BLOCK = 16 << 10, CONNECTION_MEMORY = 32 << 10 };

struct answer_header {
    const char *name;
    char *value;
};

struct exchange {
    struct http_call call; /* first: a call is its exchange */
    struct http_server *server;
    struct MHD_Connection *connection;
    char *raw_target;
    struct answer_header headers[HEADER_ROOM];
    size_t header_count;
    const char *type;
    struct buffer answer;
    struct http_source source;
    atomic_bool answered;
    bool begun, settled, handled, waiting, queued, streams, close_after;
    double stretch_began; /* of the body, whose rate is measured; and bytes before it */
    uint64_t stretch_from;
};

struct http_server {
    struct MHD_Daemon *daemon;
    struct http_hooks hooks;
    int listener;
    bool inherited;
    unsigned idle_seconds;
    atomic_size_t calls;
    atomic_bool closing;
};

static struct exchange *exchange_of(const struct http_call *call) {
    return (struct exchange *)call;
}

static int socket_of(const struct exchange *exchange) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

/* ---- A call comes in --------------------------------------------------------------- */

/* The library parses the target too, in place and with rules of its own: keep it as sent.
 */
static void *note_target(void *arg, const char *uri, struct MHD_Connection *connection) {
    struct exchange *exchange = calloc(1, sizeof *exchange);
    if (!exchange)
        return NULL;
    exchange->server = arg;
    exchange->connection = connection;
    exchange->raw_target = strdup(uri);
    exchange->call.raw_target = span_of(exchange->raw_target ? exchange->raw_target : "");
    exchange->call.started = exchange->stretch_began = clock_seconds();
    return exchange;
}

static void describe_peer(struct exchange *exchange) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *address = info ? info->client_addr : NULL;
    char *peer = exchange->call.peer, host[INET6_ADDRSTRLEN] = "";
    size_t room = sizeof exchange->call.peer;
    if (address && address->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
        inet_ntop(AF_INET, &v4->sin_addr, host, sizeof host);
        snprintf(peer, room, "%s:%d", host, ntohs(v4->sin_port));
    } else if (address && address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
        bool v4 = IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr);
        inet_ntop(v4 ? AF_INET : AF_INET6, &v6->sin6_addr.s6_addr[v4 ? 12 : 0], host,
                  sizeof host);
        snprintf(peer, room, v4 ? "%s:%d" : "[%s]:%d", host, ntohs(v6->sin6_port));
    } else {
        snprintf(peer, room, "unix");
    }
}

static void begin(struct exchange *exchange, const char *method) {
    struct http_call *call = &exchange->call;
    exchange->begun = true;
    atomic_fetch_add(&exchange->server->calls, 1);
    call->method = method;
    describe_peer(exchange);
    const char *length = http_header(call, "Content-Length");
    call->has_length = length != NULL;
    call->length = length ? strtoull(length, NULL, 10) : 0; /* checked by the library */
    exchange->server->hooks.begin(exchange->server->hooks.arg, call);
}

/* With edges instead of levels the library misses an end that came along with the last
 * bytes, and would hold the connection until it is idle for too long. */
static bool has_ended_early(const struct exchange *exchange) {
    struct pollfd state = {.fd = socket_of(exchange), .events = POLLRDHUP};
    int unread = 0;
    return exchange->call.has_length &&
           exchange->call.body.size < exchange->call.length && poll(&state, 1, 0) == 1 &&
           ioctl(state.fd, FIONREAD, &unread) == 0 && unread == 0;
}

/* A client that drips is never idle, and would hold for hours what is scarce. Each
 * stretch of the idle time is measured by itself, or a burst would pay for hours. */
static bool is_too_slow(struct exchange *exchange) {
    const struct http_call *call = &exchange->call;
    double now = clock_seconds(), seconds = now - exchange->stretch_began;
    if (seconds <= exchange->server->idle_seconds)
        return false;
    bool slow = (double)(call->received - exchange->stretch_from) <
                seconds * (double)call->least_rate;
    exchange->stretch_began = now;
    exchange->stretch_from = call->received;
    return slow;
}

/* No answer can be queued in the middle of a body. So what is over the limit is thrown
 * away; a client that goes on for as long again is cut off. */
static enum MHD_Result take_body(struct exchange *exchange, const char *bytes,
                                 size_t *size) {
    struct http_call *call = &exchange->call;
    size_t count = *size;
    *size = 0;
    call->received += count;
    if (is_too_slow(exchange))
        return MHD_NO;
    if (!call->body_too_large && count > call->body_limit - call->body.size) {
        buffer_release(&call->body);
        call->body = (struct buffer){0};
        call->body_too_large = true;
    }
    if (call->body_too_large)
        return call->received > 2 * call->body_limit + (1 << 20) ? MHD_NO : MHD_YES;
    buffer_add(&call->body, bytes, count);
    return call->body.failed || has_ended_early(exchange) ? MHD_NO : MHD_YES;
}

/* ---- An answer goes out ------------------------------------------------------------ */

static ssize_t stream_read(void *arg, uint64_t position, char *out, size_t room) {
    struct exchange *exchange = arg;
    ptrdiff_t count = exchange->source.read(exchange->source.arg, out, room);
    if (count == HTTP_END)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (count == HTTP_ABORT)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    exchange->call.sent += (uint64_t)count;
    return count;
}

static struct MHD_Response *make_response(struct exchange *exchange) {
    if (exchange->streams)
        return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK,
                                                 stream_read, exchange, NULL);
    struct buffer *answer = &exchange->answer;
    struct MHD_Response *response = MHD_create_response_from_buffer(
        answer->size, answer->data, MHD_RESPMEM_MUST_FREE);
    if (response)
        *answer = (struct buffer){0};
    return response;
}

static enum MHD_Result queue_answer(struct exchange *exchange) {
    struct MHD_Response *response = make_response(exchange);
    if (!response)
        return MHD_NO;
    exchange->queued = true;
    if (exchange->type)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, exchange->type);
    for (size_t i = 0; i < exchange->header_count; i++)
        MHD_add_response_header(response, exchange->headers[i].name,
                                exchange->headers[i].value);
    if (exchange->close_after || atomic_load(&exchange->server->closing))
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    enum MHD_Result result =
        MHD_queue_response(exchange->connection, exchange->call.status, response);
    MHD_destroy_response(response);
    return result;
}

/* Called when the headers are complete, for each piece of the body, at its end, and when
 * a waiting call has been woken. */
static enum MHD_Result on_access(void *arg, struct MHD_Connection *connection,
                                 const char *url, const char *method, const char *version,
                                 const char *upload, size_t *upload_size,
                                 void **context) {
    struct exchange *exchange = *context;
    if (!exchange || !exchange->raw_target)
        return MHD_NO; /* no memory */
    if (!exchange->begun) {
        begin(exchange, method);
        /* An answer given now closes the connection: right only when a body is to come.
         */
        bool body_to_come = exchange->call.length > 0 ||
                            http_header(&exchange->call, "Transfer-Encoding") != NULL;
        if (atomic_load(&exchange->answered) && body_to_come)
            return queue_answer(exchange);
        return MHD_YES;
    }
    if (*upload_size)
        return take_body(exchange, upload, upload_size);
    /* Called again at once, the library has stopped wanting to read. A connection set
     * aside before that would be read when it is woken, and closed if its client, done
     * with sending, had closed its half. */
    if (exchange->call.body.size && !exchange->settled) {
        exchange->settled = true;
        return MHD_YES;
    }
    if (!exchange->handled && !atomic_load(&exchange->answered)) {
        exchange->handled = true;
        exchange->server->hooks.handle(exchange->server->hooks.arg, &exchange->call);
        if (exchange->waiting)
            return MHD_YES; /* maybe answered by now: then it has been woken too */
    }
    if (exchange->queued || !atomic_load(&exchange->answered))
        return MHD_YES;
    return queue_answer(exchange);
}

static void on_completed(void *arg, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode why) {
    struct exchange *exchange = *context;
    if (!exchange)
        return;
    *context = NULL;
    if (exchange->streams)
        exchange->source.close(exchange->source.arg);
    if (exchange->begun) {
        struct http_server *server = exchange->server;
        server->hooks.finish(server->hooks.arg, &exchange->call,
                             why == MHD_REQUEST_TERMINATED_COMPLETED_OK);
        atomic_fetch_sub(&server->calls, 1);
    }
    for (size_t i = 0; i < exchange->header_count; i++)
        free(exchange->headers[i].value);
    target_release(&exchange->call.target);
    buffer_release(&exchange->call.body);
    buffer_release(&exchange->answer);
    free(exchange->raw_target);
    free(exchange);
}

/* ---- The server -------------------------------------------------------------------- */

enum bert_status http_start(struct http_server **server,
                            const struct http_options *options,
                            struct bert_error *error) {
    struct http_server *made = calloc(1, sizeof *made);
    if (!made)
        return error_memory(error);
    made->hooks = options->hooks;
    made->listener = options->listener;
    made->inherited = options->inherited;
    made->idle_seconds = options->idle_seconds;
    made->daemon = MHD_start_daemon(
        MHD_USE_AUTO_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_access,
        made, MHD_OPTION_LISTEN_SOCKET, options->listener, MHD_OPTION_CONNECTION_LIMIT,
        options->max_connections, MHD_OPTION_CONNECTION_TIMEOUT, options->idle_seconds,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_COMPLETED, on_completed, made,
        MHD_OPTION_URI_LOG_CALLBACK, note_target, made, MHD_OPTION_END);
    if (!made->daemon) {
        free(made);
        return error_set(error, BERT_IO, "cannot start the HTTP server: %s",
                         strerror(errno));
    }
    *server = made;
    return BERT_OK;
}

void http_stop_accepting(struct http_server *server) {
    if (atomic_exchange(&server->closing, true))
        return;
    MHD_quiesce_daemon(server->daemon);
    /* Refused at once is better than waiting in the backlog for nobody. The number stays
     * open until the library's thread has ended, which may be looking at it. */
    if (!server->inherited)
        shutdown(server->listener, SHUT_RDWR);
}

size_t http_calls(const struct http_server *server) {
    return atomic_load(&server->calls);
}

void http_free(struct http_server *server) {
    if (!server)
        return;
    http_stop_accepting(server);
    MHD_stop_daemon(server->daemon);
    close(server->listener);
    free(server);
}

const char *http_header(struct http_call *call, const char *name) {
    return MHD_lookup_connection_value(exchange_of(call)->connection, MHD_HEADER_KIND,
                                       name);
}

struct header_count {
    const char *name;
    size_t count;
};

static enum MHD_Result count_header(void *arg, enum MHD_ValueKind kind, const char *name,
                                    const char *value) {
    struct header_count *counted = arg;
    counted->count += strcasecmp(name, counted->name) == 0;
    return MHD_YES;
}

size_t http_header_count(struct http_call *call, const char *name) {
    struct header_count counted = {name, 0};
    MHD_get_connection_values(exchange_of(call)->connection, MHD_HEADER_KIND,
                              count_header, &counted);
    return counted.count;
}

void http_add_header(struct http_call *call, const char *name, const char *value) {
    struct exchange *exchange = exchange_of(call);
    char *copy = exchange->header_count < HEADER_ROOM ? strdup(value) : NULL;
    if (copy)
        exchange->headers[exchange->header_count++] = (struct answer_header){name, copy};
}

/* After this the exchange may be gone: the server's thread owns it again. */
static void answer_is_ready(struct exchange *exchange) {
    bool waiting = exchange->waiting;
    struct MHD_Connection *connection = exchange->connection;
    atomic_store(&exchange->answered, true);
    if (waiting)
        MHD_resume_connection(connection);
}

void http_answer(struct http_call *call, unsigned status, const char *type,
                 struct buffer *body) {
    struct exchange *exchange = exchange_of(call);
    call->status = status;
    exchange->type = type;
    if (body && !body->failed) {
        exchange->answer = *body;
        call->sent = body->size;
    } else if (body) {
        buffer_release(body);
        call->status = MHD_HTTP_INTERNAL_SERVER_ERROR;
        exchange->type = NULL;
    }
    if (body)
        *body = (struct buffer){0};
    answer_is_ready(exchange);
}

void http_close_after(struct http_call *call) {
    exchange_of(call)->close_after = true;
}

void http_stream(struct http_call *call, unsigned status, const char *type,
                 const struct http_source *source) {
    struct exchange *exchange = exchange_of(call);
    call->status = status;
    exchange->type = type;
    exchange->source = *source;
    exchange->streams = true;
    answer_is_ready(exchange);
}

void http_wait(struct http_call *call) {
    struct exchange *exchange = exchange_of(call);
    exchange->waiting = true;
    MHD_suspend_connection(exchange->connection);
}

void http_wake(struct http_call *call) {
    MHD_resume_connection(exchange_of(call)->connection);
}

bool http_gone(const struct http_call *call) {
    struct pollfd state = {.fd = socket_of(exchange_of(call)), .events = 0};
    return poll(&state, 1, 0) == 1 && (state.revents & (POLLERR | POLLHUP));
}
