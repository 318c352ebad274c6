/* SPDX-License-Identifier: MIT
 *
 * torchzip.c: torch.save since PyTorch 1.6, a zip of data.pkl and a file a storage; the
 * one file that knows libzip. torch stores its entries without compression, and only such
 * are read, in place: libzip reads the mapping through a source of ours, which sees where
 * an entry's bytes are. So a zip can neither grow nor lead outside its file. */
#include "model/torchfile.h"
#include "model/torchstate.h"

#include <zip.h>

struct archive {
    struct span bytes; /* of the file */
    size_t position;   /* of libzip in them */
    zip_t *zip;
    const char *path;
};

bool torchfile_is_zip(const unsigned char *head, size_t size) {
    return size >= 4 && memcmp(head, "PK\3\4", 4) == 0;
}

static zip_int64_t seek_source(struct archive *archive, void *data, zip_uint64_t size) {
    zip_int64_t position = zip_source_seek_compute_offset(
        archive->position, archive->bytes.size, data, size, NULL);
    if (position < 0 || (zip_uint64_t)position > archive->bytes.size)
        return -1;
    archive->position = (size_t)position;
    return 0;
}

static zip_int64_t read_source(struct archive *archive, void *data, zip_uint64_t size) {
    size_t left = archive->bytes.size - archive->position;
    size_t count = size < left ? (size_t)size : left;
    memcpy(data, archive->bytes.data + archive->position, count);
    archive->position += count;
    return (zip_int64_t)count;
}

static zip_int64_t source(void *arg, void *data, zip_uint64_t size,
                          zip_source_cmd_t command) {
    struct archive *archive = arg;
    zip_stat_t *stat = data;
    zip_error_t none;
    switch (command) {
    case ZIP_SOURCE_OPEN:
        archive->position = 0;
        return 0;
    case ZIP_SOURCE_READ:
        return read_source(archive, data, size);
    case ZIP_SOURCE_SEEK:
        return seek_source(archive, data, size);
    case ZIP_SOURCE_TELL:
        return (zip_int64_t)archive->position;
    case ZIP_SOURCE_STAT:
        zip_stat_init(stat);
        stat->size = archive->bytes.size;
        stat->valid |= ZIP_STAT_SIZE;
        return sizeof *stat;
    case ZIP_SOURCE_ERROR:
        zip_error_init_with_code(&none, ZIP_ER_READ);
        return zip_error_to_data(&none, data, size);
    case ZIP_SOURCE_SUPPORTS:
        return zip_source_make_command_bitmap(
            ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT,
            ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE, ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL, -1);
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_FREE:
        return 0;
    default:
        return -1;
    }
}

static enum bert_status open_archive(struct archive *archive,
                                     const struct mapping *mapping, const char *path,
                                     struct bert_error *error) {
    *archive = (struct archive){.bytes = {(const char *)mapping->data, mapping->size},
                                .path = path};
    zip_source_t *from = zip_source_function_create(source, archive, NULL);
    if (!from)
        return error_memory(error);
    archive->zip = zip_open_from_source(from, ZIP_RDONLY, NULL);
    if (archive->zip)
        return BERT_OK;
    zip_source_free(from);
    return error_set(error, BERT_MODEL, "%s: a truncated or damaged zip file", path);
}

/* Where the entry's bytes are. What libzip reads of it first must be what stands there,
 * in case a libzip should read ahead. Checksums are not looked at: torch itself can be
 * told to leave them out. */
static bool locate(struct archive *archive, uint64_t index, uint64_t size,
                   const unsigned char **data) {
    char head[64];
    zip_file_t *file = zip_fopen_index(archive->zip, index, 0);
    size_t want = size < sizeof head ? (size_t)size : sizeof head;
    bool ok = file && zip_fread(file, head, want) == (zip_int64_t)want;
    size_t end = archive->position;
    if (file)
        zip_fclose(file);
    if (!ok || end < want || size > archive->bytes.size - (end - want))
        return false;
    *data = (const unsigned char *)archive->bytes.data + end - want;
    return memcmp(*data, head, want) == 0;
}

/* The bytes of PREFIX/NAME; data is NULL when there is no such entry. */
static enum bert_status find_entry(struct archive *archive, const char *prefix,
                                   const char *folder, struct span name,
                                   struct span *bytes, struct bert_error *error) {
    zip_stat_t stat;
    struct buffer path = {0};
    const unsigned char *data = NULL;
    *bytes = (struct span){NULL, 0};
    buffer_printf(&path, "%s%s", prefix, folder);
    buffer_add(&path, name.data, name.size);
    if (!buffer_text(&path))
        return error_memory(error);
    zip_int64_t index = zip_name_locate(archive->zip, path.data, 0);
    zip_uint64_t wanted = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    const char *why = NULL;
    if (index < 0)
        why = "";
    else if (zip_stat_index(archive->zip, (zip_uint64_t)index, 0, &stat) != 0 ||
             (stat.valid & wanted) != wanted)
        why = "damaged";
    else if (stat.comp_method != ZIP_CM_STORE || stat.size != stat.comp_size)
        why = "compressed; torch stores its entries";
    else if (!locate(archive, (zip_uint64_t)index, stat.size, &data))
        why = "damaged, or larger than the file";
    else
        *bytes = (struct span){(const char *)data, (size_t)stat.size};
    enum bert_status status = why && *why
                                  ? error_set(error, BERT_MODEL, "%s: entry %.100s is %s",
                                              archive->path, path.data, why)
                                  : BERT_OK;
    buffer_release(&path);
    return status;
}

/* The name before "data.pkl", with its slash, malloc'ed; NULL without one. */
static char *find_prefix(const struct archive *archive) {
    zip_int64_t count = zip_get_num_entries(archive->zip, 0);
    for (zip_int64_t i = 0; i < count; i++) {
        const char *name = zip_get_name(archive->zip, (zip_uint64_t)i, ZIP_FL_ENC_RAW);
        size_t size = name ? strlen(name) : 0, tail = strlen("data.pkl");
        if (size >= tail && strcmp(name + size - tail, "data.pkl") == 0 &&
            (size == tail || name[size - tail - 1] == '/'))
            return strndup(name, size - tail);
    }
    return NULL;
}

static enum bert_status place_storage(struct archive *archive, const char *prefix,
                                      struct torch_storage *storage,
                                      struct bert_error *error) {
    struct span bytes;
    size_t want;
    enum bert_status status =
        find_entry(archive, prefix, "data/", storage->key, &bytes, error);
    if (status != BERT_OK || !bytes.data)
        return status;
    if (!size_mul(storage->count, element_size(storage->element), &want) ||
        bytes.size < want)
        return error_set(
            error, BERT_MODEL, "%s: storage %.*s is shorter than its tensors say",
            archive->path, (int)(storage->key.size < 60 ? storage->key.size : 60),
            storage->key.data);
    storage->data = (const unsigned char *)bytes.data;
    return BERT_OK;
}

static enum bert_status read_state(struct checkpoint *checkpoint, struct archive *archive,
                                   const char *prefix, struct span bytes,
                                   struct bert_error *error) {
    struct pickle pickle = {0};
    struct torch_state state = {0};
    struct bert_error why;
    size_t used;
    enum bert_status status =
        pickle_read(&pickle, (const unsigned char *)bytes.data, bytes.size, &used, &why);
    if (status != BERT_OK)
        error_set(error, status, "%s: %s", archive->path, why.message);
    if (status == BERT_OK)
        status = torch_state_begin(&state, &pickle, archive->path, error);
    for (size_t i = 0; status == BERT_OK && i < state.count; i++)
        status = place_storage(archive, prefix, &state.storages[i], error);
    if (status == BERT_OK)
        status = torch_state_add(&state, &pickle, checkpoint, archive->path, error);
    torch_state_end(&state);
    pickle_release(&pickle);
    return status;
}

static enum bert_status read_archive(struct checkpoint *checkpoint,
                                     struct archive *archive, struct bert_error *error) {
    struct span order, bytes;
    char *prefix = find_prefix(archive);
    if (!prefix)
        return error_set(error, BERT_MODEL,
                         "%s: a zip file, but not torch's: no data.pkl", archive->path);
    enum bert_status status =
        find_entry(archive, prefix, "", span_of("byteorder"), &order, error);
    if (status == BERT_OK && order.data && span_equal(order, span_of("big")))
        status = error_set(error, BERT_MODEL, "%s: written on a big-endian machine",
                           archive->path);
    if (status == BERT_OK)
        status = find_entry(archive, prefix, "", span_of("data.pkl"), &bytes, error);
    if (status == BERT_OK)
        status = bytes.data ? read_state(checkpoint, archive, prefix, bytes, error)
                            : error_set(error, BERT_MODEL,
                                        "%s: damaged: data.pkl is hidden", archive->path);
    free(prefix);
    return status;
}

enum bert_status torchfile_read_zip(struct checkpoint *checkpoint, const char *path,
                                    struct bert_error *error) {
    struct mapping mapping;
    struct archive archive;
    enum bert_status status = checkpoint_map(checkpoint, path, &mapping, error);
    if (status == BERT_OK)
        status = open_archive(&archive, &mapping, path, error);
    if (status != BERT_OK)
        return status;
    status = read_archive(checkpoint, &archive, error);
    zip_discard(archive.zip);
    return status;
}
