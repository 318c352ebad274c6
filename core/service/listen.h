/* SPDX-License-Identifier: MIT
 *
 * listen.h: where a server listens (TCP, a Unix socket, a socket handed over by the
 * service manager) and the word to that manager when it is ready. */
#ifndef SERVICE_LISTEN_H
#define SERVICE_LISTEN_H

#include "base/status.h"

#include <sys/types.h>

struct listener {
    int socket;
    bool inherited;
    char name[160];    /* for people: "http://127.0.0.1:8000", "unix:/run/bert.sock" */
    char *unlink_path; /* the Unix socket that listener_release removes, or NULL */
    dev_t device;      /* and what stands there is still ours while it is this file */
    ino_t inode;
};

/* where: "HOST:PORT", "[V6]:PORT", ":PORT" (all addresses), "unix:PATH" or "/PATH"; NULL
 * takes the socket that LISTEN_FDS announces to this process, else 127.0.0.1:8000. Port 0
 * takes a free one. Fails with BERT_USAGE (the address makes no sense) or BERT_IO. */
enum bert_status listener_open(struct listener *listener, const char *where,
                               struct bert_error *error);
/* Removes a Unix socket's file; the socket itself belongs to the HTTP server. */
void listener_release(struct listener *listener);

/* Tells the service manager (NOTIFY_SOCKET), if there is one: "READY=1", "STOPPING=1". */
void listen_notify(const char *state);

#endif
