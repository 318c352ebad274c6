/* SPDX-License-Identifier: MIT
 *
 * backend_load.c: opens a plug-in, from an absolute folder only, so that no file of the
 * current directory or of a library search path is ever run. The one user of dlopen. */
#include "nn/backend.h"

#include "base/path.h"

#include <dlfcn.h>

#ifndef BACKEND_DIR
#define BACKEND_DIR "/usr/local/lib/bert-tools"
#endif

static const struct backend *open_plugin(const char *path, const char *kind, char *why,
                                         size_t size) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *reason = dlerror();
        snprintf(why, size, "%s", reason == NULL ? "cannot be opened" : reason);
        return NULL;
    }
    const struct backend *backend = dlsym(library, "bert_backend");
    if (backend == NULL)
        snprintf(why, size, "%s: not a backend", path);
    else if (backend->version != BACKEND_VERSION)
        snprintf(why, size, "%s: version %u, this program needs %d", path,
                 (unsigned)backend->version, BACKEND_VERSION);
    else if (strcmp(backend->kind, kind) != 0)
        snprintf(why, size, "%s: a backend for %s", path, backend->kind);
    else
        return backend; /* stays open for the life of the process */
    dlclose(library);
    return NULL;
}

const struct backend *backend_load(const char *kind, char *why, size_t size) {
    const char *folder = getenv("BERT_BACKEND_DIR");
    if (folder == NULL || *folder == '\0')
        folder = BACKEND_DIR;
    if (*folder != '/') {
        snprintf(why, size, "BERT_BACKEND_DIR is not an absolute path: %s", folder);
        return NULL;
    }
    char name[64];
    snprintf(name, sizeof name, "bert-%s.so", kind);
    char *path = path_join(folder, name);
    const struct backend *backend = NULL;
    if (path == NULL)
        snprintf(why, size, "out of memory");
    else if (!path_exists(path))
        snprintf(why, size, "%s is not there", path);
    else
        backend = open_plugin(path, kind, why, size);
    free(path);
    return backend;
}
