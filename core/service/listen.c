/* SPDX-License-Identifier: MIT
 *
 * listen.c: the protocols of the service manager are a few lines each, so no library. */
#include "service/listen.h"

#include "base/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 511, FIRST_INHERITED = 3 };

static bool unix_address(struct sockaddr_un *address, socklen_t *size, const char *path) {
    size_t length = strlen(path);
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (length == 0 || length >= sizeof address->sun_path)
        return false;
    memcpy(address->sun_path, path, length);
    *size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    return true;
}

/* A socket file that nobody answers on is left over from a crash. */
static bool is_stale(const struct sockaddr_un *address, socklen_t size) {
    struct stat status;
    if (stat(address->sun_path, &status) != 0 || !S_ISSOCK(status.st_mode))
        return false;
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool stale = probe >= 0 &&
                 connect(probe, (const struct sockaddr *)address, size) != 0 &&
                 errno == ECONNREFUSED;
    if (probe >= 0)
        close(probe);
    return stale;
}

static enum bert_status open_unix(struct listener *listener, const char *path,
                                  struct bert_error *error) {
    struct sockaddr_un address;
    socklen_t size = 0;
    if (!unix_address(&address, &size, path))
        return error_set(error, BERT_USAGE, "%s: a Unix socket's path has 1 to %zu bytes",
                         path, sizeof address.sun_path - 1);
    if (is_stale(&address, size))
        unlink(path);
    int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0 || bind(made, (struct sockaddr *)&address, size) != 0 ||
        chmod(path, 0660) != 0 || listen(made, BACKLOG) != 0) {
        error_set(error, BERT_IO, "%s: %s", path, strerror(errno));
        if (made >= 0)
            close(made);
        return BERT_IO;
    }
    struct stat status;
    listener->socket = made;
    listener->unlink_path = stat(path, &status) == 0 ? strdup(path) : NULL;
    listener->device = status.st_dev;
    listener->inode = status.st_ino;
    snprintf(listener->name, sizeof listener->name, "unix:%s", path);
    return BERT_OK;
}

static int bind_to(const struct addrinfo *address) {
    int made = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int on = 1, off = 0;
    if (made < 0)
        return -1;
    setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address->ai_family == AF_INET6) /* [::] is all addresses, those of IPv4 too */
        setsockopt(made, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(made, address->ai_addr, address->ai_addrlen) == 0 &&
        listen(made, BACKLOG) == 0)
        return made;
    int why = errno;
    close(made);
    errno = why;
    return -1;
}

static void describe(struct listener *listener) {
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    char host[NI_MAXHOST] = "?", port[NI_MAXSERV] = "?";
    if (getsockname(listener->socket, (struct sockaddr *)&address, &size) != 0)
        return;
    if (address.ss_family == AF_UNIX) {
        const struct sockaddr_un *local = (const struct sockaddr_un *)&address;
        snprintf(listener->name, sizeof listener->name, "unix:%.*s",
                 (int)sizeof local->sun_path, local->sun_path);
        return;
    }
    getnameinfo((struct sockaddr *)&address, size, host, sizeof host, port, sizeof port,
                NI_NUMERICHOST | NI_NUMERICSERV);
    bool v6 = address.ss_family == AF_INET6;
    snprintf(listener->name, sizeof listener->name, "http://%s%.100s%s:%.10s",
             v6 ? "[" : "", host, v6 ? "]" : "", port);
}

static bool port_is_valid(const char *port) {
    size_t digits = strspn(port, "0123456789");
    return digits > 0 && digits <= 5 && port[digits] == '\0' &&
           strtol(port, NULL, 10) <= 65535;
}

static enum bert_status bind_host(struct listener *listener, const char *where,
                                  const char *host, const char *port,
                                  struct bert_error *error) {
    struct addrinfo wanted = {.ai_socktype = SOCK_STREAM}, *found;
    int failed = getaddrinfo(host, port, &wanted, &found);
    if (failed)
        return error_set(error, BERT_USAGE, "%s: %s", where, gai_strerror(failed));
    listener->socket = -1;
    for (struct addrinfo *at = found; at && listener->socket < 0; at = at->ai_next)
        listener->socket = bind_to(at);
    int why = errno;
    freeaddrinfo(found);
    if (listener->socket < 0)
        return error_set(error, BERT_IO, "%s: %s", where, strerror(why));
    describe(listener);
    return BERT_OK;
}

static enum bert_status open_tcp(struct listener *listener, const char *where,
                                 struct bert_error *error) {
    const char *colon = strrchr(where, ':');
    char host[256] = "";
    size_t size = colon ? (size_t)(colon - where) : 0;
    if (!colon || size >= sizeof host || !port_is_valid(colon + 1))
        return error_set(error, BERT_USAGE,
                         "'%s' is not HOST:PORT, [V6]:PORT, :PORT or unix:PATH", where);
    bool bracketed = size >= 2 && where[0] == '[' && where[size - 1] == ']';
    memcpy(host, where + bracketed, size - 2 * bracketed);
    if (host[0])
        return bind_host(listener, where, host, colon + 1, error);
    return bind_host(listener, where, "::", colon + 1, error) == BERT_OK
               ? BERT_OK /* else without IPv6 */
               : bind_host(listener, where, "0.0.0.0", colon + 1, error);
}

/* LISTEN_PID guards against variables that were meant for a parent. */
static bool inherits_socket(void) {
    const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
    return pid && count && strtol(pid, NULL, 10) == (long)getpid() &&
           strtol(count, NULL, 10) >= 1;
}

static enum bert_status take_inherited(struct listener *listener,
                                       struct bert_error *error) {
    int listens = 0;
    socklen_t size = sizeof listens;
    if (getsockopt(FIRST_INHERITED, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 ||
        !listens)
        return error_set(error, BERT_IO, "LISTEN_FDS: file 3 is not a listening socket");
    fcntl(FIRST_INHERITED, F_SETFD, FD_CLOEXEC);
    fcntl(FIRST_INHERITED, F_SETFL, fcntl(FIRST_INHERITED, F_GETFL) | O_NONBLOCK);
    listener->socket = FIRST_INHERITED;
    listener->inherited = true;
    describe(listener);
    return BERT_OK;
}

enum bert_status listener_open(struct listener *listener, const char *where,
                               struct bert_error *error) {
    memset(listener, 0, sizeof *listener);
    if (!where && inherits_socket())
        return take_inherited(listener, error);
    if (!where)
        where = "127.0.0.1:8000";
    if (strncmp(where, "unix:", 5) == 0)
        return open_unix(listener, where + 5, error);
    return where[0] == '/' ? open_unix(listener, where, error)
                           : open_tcp(listener, where, error);
}

void listener_release(struct listener *listener) {
    struct stat status;
    if (listener->unlink_path && stat(listener->unlink_path, &status) == 0 &&
        status.st_dev == listener->device && status.st_ino == listener->inode)
        unlink(listener->unlink_path);
    free(listener->unlink_path);
    listener->unlink_path = NULL;
}

void listen_notify(const char *state) {
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address;
    socklen_t size = 0;
    if (!path || !unix_address(&address, &size, path))
        return;
    if (path[0] == '@') /* one of Linux's abstract names */
        address.sun_path[0] = '\0';
    int out = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (out < 0)
        return;
    sendto(out, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address, size);
    close(out);
}
