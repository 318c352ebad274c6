/* SPDX-License-Identifier: MIT
 *
 * path.c: joins, tests, and the search for models. */
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

#define SHIPPED_MODEL "mini-zh"
#define MODELS "bert-tools/models"

char *path_join(const char *folder, const char *name) {
    struct buffer path = {0};
    if (name[0] != '/') {
        buffer_add_text(&path, folder);
        if (path.size > 0 && path.data[path.size - 1] != '/')
            buffer_add_byte(&path, '/');
    }
    buffer_add_text(&path, name);
    if (buffer_text(&path) == NULL)
        buffer_release(&path);
    return path.data;
}

bool path_exists(const char *path) {
    struct stat stat_;
    return stat(path, &stat_) == 0;
}

bool path_is_folder(const char *path) {
    struct stat stat_;
    return stat(path, &stat_) == 0 && S_ISDIR(stat_.st_mode);
}

int path_sync_folder(const char *path) {
    const char *slash = strrchr(path, '/');
    size_t length = slash == path ? 1 : slash ? (size_t)(slash - path) : 0;
    char *folder = slash ? strndup(path, length) : strdup(".");
    if (folder == NULL)
        return -1;
    int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    if (file < 0)
        return 0;
    int result = fsync(file), why = errno;
    close(file);
    errno = why;
    return result < 0 && (why == EINVAL || why == ENOTSUP) ? 0 : result;
}

char *path_program_folder(void) {
#ifdef __APPLE__
    char raw[PATH_MAX];
    uint32_t size = sizeof raw;
    char *path = _NSGetExecutablePath(raw, &size) == 0 ? realpath(raw, NULL) : NULL;
#else
    char *path = realpath("/proc/self/exe", NULL);
#endif
    char *slash = path ? strrchr(path, '/') : NULL;
    if (slash == NULL) {
        free(path);
        return NULL;
    }
    slash[slash == path] = '\0'; /* the root keeps its slash */
    return path;
}

/* The search: each folder tried once, in order, and remembered for the message. */
struct search {
    const char *name;
    struct buffer tried;
    char *found;
    bool failed;
};

/* Tries FOLDER/name.bert, then the folder FOLDER/name. */
static void try_folder(struct search *search, const char *folder) {
    if (search->found != NULL || search->failed || folder[0] == '\0')
        return;
    buffer_printf(&search->tried, "%s%s", search->tried.size ? ", " : "", folder);
    char *plain = path_join(folder, search->name);
    struct buffer file = {0};
    if (plain != NULL)
        buffer_printf(&file, "%s.bert", plain);
    if (buffer_text(&file) == NULL)
        search->failed = true;
    else if (path_exists(file.data) && !path_is_folder(file.data)) {
        search->found = file.data;
        file = (struct buffer){0};
    } else if (path_is_folder(plain)) {
        search->found = plain;
        plain = NULL;
    }
    free(plain);
    buffer_release(&file);
}

static void try_inside(struct search *search, const char *folder, const char *inside) {
    char *path = *inside ? path_join(folder, inside) : strdup(folder);
    if (path == NULL)
        search->failed = true;
    else
        try_folder(search, path);
    free(path);
}

/* Each folder of a list separated by colons, with inside appended; only absolute ones
 * where the XDG specification asks for that. */
static void try_list(struct search *search, const char *list, const char *inside,
                     bool absolute) {
    while (list != NULL && *list != '\0') {
        size_t length = strcspn(list, ":");
        char *folder = length > 0 ? strndup(list, length) : NULL;
        if (folder != NULL && (!absolute || folder[0] == '/'))
            try_inside(search, folder, inside);
        free(folder);
        list += length + (list[length] == ':');
    }
}

static const char *environment(const char *name, const char *otherwise) {
    const char *value = getenv(name);
    return value != NULL && *value != '\0' ? value : otherwise;
}

static void try_user(struct search *search) {
    const char *home = environment("HOME", NULL),
               *data = environment("XDG_DATA_HOME", NULL);
    if (data != NULL && data[0] == '/')
        try_inside(search, data, MODELS);
    else if (home != NULL)
        try_inside(search, home, ".local/share/" MODELS);
}

/* build/bert-fill reads data/models; PREFIX/bin/bert-fill reads PREFIX/share. */
static void try_beside_program(struct search *search) {
    char *folder = path_program_folder();
    if (folder != NULL) {
        char *slash = strrchr(folder, '/');
        slash[slash == folder] = '\0';
        try_inside(search, folder, "data/models");
        try_inside(search, folder, "share/" MODELS);
    }
    free(folder);
}

static enum bert_status not_found(struct search *search, struct bert_error *error) {
    const char *tried = buffer_text(&search->tried);
    if (search->failed || tried == NULL)
        return error_memory(error);
    if (path_exists(search->name)) /* a name is never taken from the current folder */
        return error_set(error, BERT_MODEL,
                         "no model named '%s'; for the one in this folder: -m ./%s",
                         search->name, search->name);
    /* The command comes first: a long list of places may be cut. */
    return error_set(error, BERT_MODEL,
                     "no model '%s'; make it with: bert-convert SRC "
                     "-o ~/.local/share/" MODELS "/%s.bert; tried: %s",
                     search->name, search->name, tried);
}

static bool names_file(const char *model) {
    size_t length = strlen(model);
    return length > 5 && strcmp(model + length - 5, ".bert") == 0;
}

static enum bert_status find_path(char **found, const char *path,
                                  struct bert_error *error) {
    if (!path_exists(path))
        return error_set(error, BERT_MODEL,
                         "%s: no such model; make it with: bert-convert SRC -o %s%s",
                         path, path, names_file(path) ? "" : ".bert");
    *found = strdup(path);
    return *found ? BERT_OK : error_memory(error);
}

enum bert_status path_find_model(char **found, const char *model, const char *prefix,
                                 struct bert_error *error) {
    *found = NULL;
    bool shipped = model == NULL || *model == '\0';
    struct search search = {.name = shipped ? SHIPPED_MODEL : model};
    if (strchr(search.name, '/') || names_file(search.name) ||
        strcmp(search.name, ".") == 0 || strcmp(search.name, "..") == 0)
        return find_path(found, search.name, error);
    if (shipped)
        try_beside_program(&search);
    try_list(&search, environment("BERT_MODEL_DIRS", NULL), "", false);
    try_user(&search);
    try_list(&search, environment("XDG_DATA_DIRS", "/usr/local/share:/usr/share"), MODELS,
             true);
    if (!shipped)
        try_beside_program(&search);
    if (prefix != NULL)
        try_inside(&search, prefix, "share/" MODELS);
    *found = search.found;
    enum bert_status status = *found ? BERT_OK : not_found(&search, error);
    buffer_release(&search.tried);
    return status;
}
