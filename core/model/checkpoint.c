/* SPDX-License-Identifier: MIT
 *
 * checkpoint.c: finds which files hold the weights, tells their format by their first
 * bytes, and keeps the tensors that the readers add. */
#include "model/checkpoint.h"

#include "base/path.h"
#include "model/safetensors.h"
#include "model/tfcheckpoint.h"
#include "model/torchfile.h"

#include <dirent.h>
#include <errno.h>

enum { TENSORS_MAX = 4000000 };

void *checkpoint_alloc(struct checkpoint *checkpoint, size_t size) {
    return arena_array(&checkpoint->arena, 1, size);
}

enum bert_status checkpoint_map(struct checkpoint *checkpoint, const char *path,
                                struct mapping *mapping, struct bert_error *error) {
    size_t count = checkpoint->mapping_count;
    struct mapping *mappings =
        realloc(checkpoint->mappings, (count + 1) * sizeof *checkpoint->mappings);
    if (!mappings)
        return error_memory(error);
    checkpoint->mappings = mappings;
    enum bert_status status = mapping_open(mapping, path, checkpoint->no_mmap, error);
    if (status != BERT_OK)
        return status;
    mappings[checkpoint->mapping_count++] = *mapping;
    if (!checkpoint->path)
        checkpoint->path = arena_text(&checkpoint->arena, path, strlen(path));
    return BERT_OK;
}

enum bert_status checkpoint_add(struct checkpoint *checkpoint, struct span name,
                                struct tensor tensor, struct bert_error *error) {
    if (checkpoint->count == checkpoint->capacity) {
        size_t capacity = checkpoint->capacity * 2 + 64;
        struct tensor *tensors =
            capacity > TENSORS_MAX
                ? NULL
                : realloc(checkpoint->tensors, capacity * sizeof *tensors);
        if (!tensors)
            return error_memory(error);
        checkpoint->tensors = tensors;
        checkpoint->capacity = capacity;
    }
    char *copy = arena_text(&checkpoint->arena, name.data, name.size);
    if (!copy)
        return error_memory(error);
    bool transposed;
    tensor.name = copy;
    tensor.known = names_find(copy, &tensor.slot, &transposed);
    if (tensor.known && transposed && tensor.rank == 2) {
        uint64_t rows = tensor.shape[0], stride = tensor.stride[0];
        tensor.shape[0] = tensor.shape[1];
        tensor.stride[0] = tensor.stride[1];
        tensor.shape[1] = rows;
        tensor.stride[1] = stride;
    }
    checkpoint->tensors[checkpoint->count++] = tensor;
    return BERT_OK;
}

enum bert_status checkpoint_refuse_pointer(const struct mapping *mapping,
                                           const char *path, struct bert_error *error) {
    static const char pointer[] = "version https://git-lfs";
    if (mapping->size < sizeof pointer - 1 ||
        memcmp(mapping->data, pointer, sizeof pointer - 1) != 0)
        return BERT_OK;
    return error_set(
        error, BERT_MODEL,
        "%s: a Git LFS pointer, not the file itself; get it with 'git lfs pull'", path);
}

static int compare_known(const void *a, const void *b) {
    const struct tensor *const *x = a, *const *y = b;
    return names_compare((*x)->slot, (*y)->slot);
}

/* Sorts the known tensors; a part twice is a file that means two things. */
enum bert_status checkpoint_index(struct checkpoint *checkpoint,
                                  struct bert_error *error) {
    checkpoint->index = malloc((checkpoint->count + 1) * sizeof *checkpoint->index);
    if (!checkpoint->index)
        return error_memory(error);
    size_t count = 0;
    for (size_t i = 0; i < checkpoint->count; i++)
        if (checkpoint->tensors[i].known)
            checkpoint->index[count++] = &checkpoint->tensors[i];
    qsort(checkpoint->index, count, sizeof *checkpoint->index, compare_known);
    for (size_t i = 1; i < count; i++)
        if (compare_known(&checkpoint->index[i - 1], &checkpoint->index[i]) == 0)
            return error_set(error, BERT_MODEL, "%s: %s and %s name the same tensor",
                             checkpoint->path, checkpoint->index[i - 1]->name,
                             checkpoint->index[i]->name);
    checkpoint->index_count = count;
    return BERT_OK;
}

const struct tensor *checkpoint_find(const struct checkpoint *checkpoint, int layer,
                                     enum part part) {
    struct tensor key = {.slot = {part < PART_LAYER ? -1 : layer, part}}, *wanted = &key;
    struct tensor **found =
        checkpoint->index_count
            ? bsearch(&wanted, checkpoint->index, checkpoint->index_count,
                      sizeof *checkpoint->index, compare_known)
            : NULL;
    return found ? *found : NULL;
}

/* Training moves every weight, so a few bytes of each tensor tell models apart without
 * reading them whole. */
uint64_t checkpoint_identity(const struct checkpoint *checkpoint) {
    enum { SAMPLE = 64 };
    uint64_t hash = HASH_SEED;
    for (size_t i = 0; i < checkpoint->index_count; i++) {
        const struct tensor *tensor = checkpoint->index[i];
        size_t extent = 0;
        tensor_extent(tensor, &extent);
        hash = hash_bytes(hash, &tensor->slot.layer, sizeof tensor->slot.layer);
        hash = hash_bytes(hash, &tensor->slot.part, sizeof tensor->slot.part);
        hash = hash_bytes(hash, &tensor->element, sizeof tensor->element);
        hash = hash_bytes(hash, tensor->shape, sizeof tensor->shape);
        for (int part = 0; part < 3; part++) {
            size_t size = extent < SAMPLE ? extent : SAMPLE;
            size_t at = (extent - size) / 2 * (size_t)part;
            hash = hash_bytes(hash, tensor->data + at, size);
        }
    }
    return hash;
}

/* ---- Which reader ---- */

/* The first bytes; fewer when the file is shorter. */
static enum bert_status peek(const char *path, unsigned char *bytes, size_t *size,
                             struct bert_error *error) {
    struct mapping mapping;
    enum bert_status status = mapping_open(&mapping, path, false, error);
    if (status != BERT_OK)
        return status;
    if (*size > mapping.size)
        *size = mapping.size;
    if (*size)
        memcpy(bytes, mapping.data, *size);
    mapping_close(&mapping);
    return BERT_OK;
}

static enum bert_status read_weights(struct checkpoint *checkpoint, const char *path,
                                     struct bert_error *error) {
    unsigned char head[16] = {0};
    size_t size = sizeof head;
    enum bert_status status = peek(path, head, &size, error);
    if (status != BERT_OK)
        return status;
    if (torchfile_is_zip(head, size)) {
        checkpoint->format = "torch zip";
        return torchfile_read_zip(checkpoint, path, error);
    }
    if (torchfile_is_legacy(head, size)) {
        checkpoint->format = "torch legacy";
        return torchfile_read_legacy(checkpoint, path, error);
    }
    if (text_ends_with(path, ".bin") && (size < 9 || head[8] != '{') && head[0] != 'v')
        return error_set(error, BERT_MODEL, "%s: truncated or no PyTorch file", path);
    checkpoint->format = "safetensors";
    return safetensors_read(checkpoint, path, error);
}

static enum bert_status read_shards(struct checkpoint *checkpoint, const char *path,
                                    struct bert_error *error) {
    const char **files;
    size_t count;
    enum bert_status status = safetensors_index(checkpoint, path, &files, &count, error);
    const char *slash = strrchr(path, '/');
    for (size_t i = 0; status == BERT_OK && i < count; i++) {
        struct buffer shard = {0};
        if (slash)
            buffer_add(&shard, path, (size_t)(slash - path) + 1);
        buffer_add_text(&shard, files[i]);
        const char *name = buffer_text(&shard);
        status = name ? read_weights(checkpoint, name, error) : error_memory(error);
        buffer_release(&shard);
    }
    return status;
}

static enum bert_status read_path(struct checkpoint *checkpoint, const char *path,
                                  struct bert_error *error) {
    if (text_ends_with(path, ".index.json"))
        return read_shards(checkpoint, path, error);
    if (tfcheckpoint_is(path)) {
        checkpoint->format = "tensorflow";
        return tfcheckpoint_read(checkpoint, path, error);
    }
    return read_weights(checkpoint, path, error);
}

/* The name of the TensorFlow index in a folder, malloc'ed; NULL when there are none or
 * several. */
static char *find_tensorflow(const char *folder) {
    DIR *stream = opendir(folder);
    char *found = NULL;
    int count = 0;
    for (struct dirent *entry; stream && (entry = readdir(stream)) != NULL;) {
        if (!text_ends_with(entry->d_name, ".index") || count++)
            continue;
        found = path_join(folder, entry->d_name);
    }
    if (stream)
        closedir(stream);
    if (count > 1) {
        free(found);
        return NULL;
    }
    return found;
}

static enum bert_status read_folder(struct checkpoint *checkpoint, const char *folder,
                                    struct bert_error *error) {
    static const char *const names[] = {
        "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
        "pytorch_model.bin.index.json"};
    char *path = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !path; i++) {
        path = path_join(folder, names[i]);
        if (!path)
            return error_memory(error);
        if (!path_exists(path)) {
            free(path);
            path = NULL;
        }
    }
    if (!path)
        path = find_tensorflow(folder);
    if (!path)
        return error_set(error, BERT_MODEL,
                         "%s: no weights in this folder (model.safetensors, "
                         "pytorch_model.bin or a TensorFlow checkpoint)",
                         folder);
    enum bert_status status = read_path(checkpoint, path, error);
    free(path);
    return status;
}

enum bert_status checkpoint_open(struct checkpoint *checkpoint, const char *path,
                                 bool no_mmap, struct bert_error *error) {
    *checkpoint = (struct checkpoint){.no_mmap = no_mmap};
    arena_init(&checkpoint->arena);
    enum bert_status status = path_is_folder(path) ? read_folder(checkpoint, path, error)
                                                   : read_path(checkpoint, path, error);
    if (status == BERT_OK)
        status = checkpoint_index(checkpoint, error);
    if (status != BERT_OK)
        checkpoint_close(checkpoint);
    return status;
}

void checkpoint_close(struct checkpoint *checkpoint) {
    for (size_t i = 0; i < checkpoint->mapping_count; i++)
        mapping_close(&checkpoint->mappings[i]);
    free(checkpoint->mappings);
    free(checkpoint->tensors);
    free(checkpoint->index);
    arena_release(&checkpoint->arena);
    *checkpoint = (struct checkpoint){0};
}
