/* SPDX-License-Identifier: MIT
 *
 * torchzip.c: torch.save since PyTorch 1.6, a zip of data.pkl and a file a storage; the one
 * file that knows libzip. torch stores its entries without compression, and only such are
 * read, so a zip cannot grow beyond its file's size. */
#include "model/torchfile.h"
#include "model/torchstate.h"

#include <zip.h>

struct zip_store {
    struct store store;
    zip_t *archive;
    const char *path;
    uint64_t size; /* of the file */
};

bool torchfile_is_zip(const unsigned char *head, size_t size) {
    return size >= 4 && memcmp(head, "PK\3\4", 4) == 0;
}

/* The checksum of an entry is not looked at: torch itself can be told to leave it out. */
static enum bert_status read_entry(struct store *store, uint64_t entry, uint64_t offset,
                                   size_t size, void *out, struct bert_error *error) {
    struct zip_store *self = (struct zip_store *)store;
    zip_file_t *file = zip_fopen_index(self->archive, entry, 0);
    bool ok = file && zip_fseek(file, (zip_int64_t)offset, SEEK_SET) == 0;
    for (size_t done = 0; ok && done < size;) {
        zip_int64_t got = zip_fread(file, (char *)out + done, size - done);
        ok = got > 0;
        done += ok ? (size_t)got : 0;
    }
    if (file)
        zip_fclose(file);
    return ok ? BERT_OK
              : error_set(error, BERT_MODEL, "%s: damaged: entry %llu cannot be read",
                          self->path, (unsigned long long)entry);
}

static void close_archive(struct store *store) {
    zip_discard(((struct zip_store *)store)->archive);
}

static enum bert_status open_archive(struct checkpoint *checkpoint, const char *path,
                                     const struct mapping *mapping, struct zip_store **result,
                                     struct bert_error *error) {
    struct zip_store *store = checkpoint_alloc(checkpoint, sizeof *store);
    char *name = arena_text(&checkpoint->arena, path, strlen(path));
    zip_source_t *source = zip_source_buffer_create(mapping->data, mapping->size, 0, NULL);
    if (!store || !name || !source) {
        zip_source_free(source);
        return error_memory(error);
    }
    zip_t *archive = zip_open_from_source(source, ZIP_RDONLY, NULL);
    if (!archive) {
        zip_source_free(source);
        return error_set(error, BERT_MODEL, "%s: a truncated or damaged zip file", path);
    }
    *store = (struct zip_store){{read_entry, close_archive, checkpoint->stores},
                                archive, name, mapping->size};
    checkpoint->stores = &store->store;
    *result = store;
    return BERT_OK;
}

/* An entry's index and its size, after the checks that bound what reading it can cost. */
static enum bert_status find_entry(const struct zip_store *store, const char *name,
                                   uint64_t *index, uint64_t *size, bool *found,
                                   struct bert_error *error) {
    zip_stat_t stat;
    zip_int64_t at = zip_name_locate(store->archive, name, 0);
    *found = at >= 0;
    if (!*found)
        return BERT_OK;
    *index = (uint64_t)at;
    zip_uint64_t wanted = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    if (zip_stat_index(store->archive, *index, 0, &stat) != 0 ||
        (stat.valid & wanted) != wanted)
        return error_set(error, BERT_MODEL, "%s: damaged: entry %.100s", store->path, name);
    if (stat.comp_method != ZIP_CM_STORE || stat.size != stat.comp_size)
        return error_set(error, BERT_MODEL,
                         "%s: entry %.100s is compressed; torch stores its entries",
                         store->path, name);
    if (stat.size > store->size)
        return error_set(error, BERT_MODEL, "%s: damaged: entry %.100s is larger than the file",
                         store->path, name);
    *size = stat.size;
    return BERT_OK;
}

/* The name before "data.pkl", with its slash, malloc'ed; NULL without one. */
static char *find_prefix(const struct zip_store *store) {
    zip_int64_t count = zip_get_num_entries(store->archive, 0);
    for (zip_int64_t i = 0; i < count; i++) {
        const char *name = zip_get_name(store->archive, (zip_uint64_t)i, ZIP_FL_ENC_RAW);
        size_t size = name ? strlen(name) : 0, tail = strlen("data.pkl");
        if (size >= tail && strcmp(name + size - tail, "data.pkl") == 0 &&
            (size == tail || name[size - tail - 1] == '/'))
            return strndup(name, size - tail);
    }
    return NULL;
}

/* Reads PREFIX + name; bytes stay empty when there is no such entry. */
static enum bert_status read_small(struct zip_store *store, const char *prefix,
                                   const char *name, uint64_t limit, struct buffer *bytes,
                                   struct bert_error *error) {
    struct buffer path = {0};
    buffer_printf(&path, "%s%s", prefix, name);
    uint64_t index = 0, size = 0;
    bool found = false;
    enum bert_status status =
        buffer_text(&path) ? find_entry(store, path.data, &index, &size, &found, error)
                           : error_memory(error);
    if (status == BERT_OK && found) {
        if (size > limit)
            status = error_set(error, BERT_MODEL, "%s: %s has %llu bytes", store->path,
                               path.data, (unsigned long long)size);
        else if (!buffer_reserve(bytes, (size_t)size + 1))
            status = error_memory(error);
        else
            status = read_entry(&store->store, index, 0, (size_t)size, bytes->data, error);
        bytes->size = status == BERT_OK ? (size_t)size : 0;
    }
    buffer_release(&path);
    return status;
}

static enum bert_status place_storage(struct zip_store *store, const char *prefix,
                                      struct torch_storage *storage,
                                      struct bert_error *error) {
    struct buffer name = {0};
    buffer_printf(&name, "%sdata/", prefix);
    buffer_add(&name, storage->key.data, storage->key.size);
    uint64_t size = 0, want = 0;
    bool found = false;
    enum bert_status status =
        buffer_text(&name)
            ? find_entry(store, name.data, &storage->entry, &size, &found, error)
            : error_memory(error);
    if (status == BERT_OK && found &&
        (!size_mul(storage->count, element_size(storage->element), &want) || size < want))
        status = error_set(error, BERT_MODEL, "%s: entry %.100s is shorter than its tensors say",
                           store->path, name.data);
    buffer_release(&name);
    storage->placed = found;
    storage->store = &store->store;
    return status;
}

static enum bert_status read_state(struct checkpoint *checkpoint, struct zip_store *store,
                                   const char *prefix, const struct buffer *bytes,
                                   struct bert_error *error) {
    struct pickle pickle = {0};
    struct torch_state state = {0};
    struct bert_error why;
    size_t used;
    enum bert_status status =
        pickle_read(&pickle, (const unsigned char *)bytes->data, bytes->size, &used, &why);
    if (status != BERT_OK)
        error_set(error, status, "%s: %s", store->path, why.message);
    if (status == BERT_OK)
        status = torch_state_begin(&state, &pickle, store->path, error);
    for (size_t i = 0; status == BERT_OK && i < state.count; i++)
        status = place_storage(store, prefix, &state.storages[i], error);
    if (status == BERT_OK)
        status = torch_state_add(&state, &pickle, checkpoint, store->path, error);
    torch_state_end(&state);
    pickle_release(&pickle);
    return status;
}

enum bert_status torchfile_read_zip(struct checkpoint *checkpoint, const char *path,
                                    struct bert_error *error) {
    struct mapping mapping;
    struct zip_store *store = NULL;
    struct buffer order = {0}, bytes = {0};
    char *prefix = NULL;
    enum bert_status status = checkpoint_map(checkpoint, path, &mapping, error);
    if (status == BERT_OK)
        status = open_archive(checkpoint, path, &mapping, &store, error);
    if (status == BERT_OK && !(prefix = find_prefix(store)))
        status = error_set(error, BERT_MODEL, "%s: a zip file, but not torch's: no data.pkl",
                           path);
    if (status == BERT_OK)
        status = read_small(store, prefix, "byteorder", 64, &order, error);
    if (status == BERT_OK && order.size == 3 && memcmp(order.data, "big", 3) == 0)
        status = error_set(error, BERT_MODEL, "%s: written on a big-endian machine", path);
    if (status == BERT_OK)
        status = read_small(store, prefix, "data.pkl", mapping.size, &bytes, error);
    if (status == BERT_OK)
        status = read_state(checkpoint, store, prefix, &bytes, error);
    buffer_release(&order);
    buffer_release(&bytes);
    free(prefix);
    return status;
}
