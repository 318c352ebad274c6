/* SPDX-License-Identifier: MIT
 *
 * torchstate.c: from the pickled state dict to tensors of the checkpoint. */
#include "model/torchstate.h"

static int compare_keys(const void *a, const void *b) {
    const struct torch_storage *x = a, *y = b;
    size_t size = x->key.size < y->key.size ? x->key.size : y->key.size;
    int order = size ? memcmp(x->key.data, y->key.data, size) : 0;
    return order ? order : (x->key.size > y->key.size) - (x->key.size < y->key.size);
}

enum bert_status torch_state_begin(struct torch_state *state, const struct pickle *pickle,
                                   const char *path, struct bert_error *error) {
    *state = (struct torch_state){
        calloc(pickle->storage_count + 1, sizeof *state->storages), 0};
    struct torch_storage *all = state->storages;
    if (!all)
        return error_memory(error);
    for (size_t i = 0; i < pickle->storage_count; i++) {
        const struct pickle_storage *from = &pickle->storages[i];
        all[i] = (struct torch_storage){
            .key = from->key, .element = from->element, .count = from->count};
    }
    qsort(all, pickle->storage_count, sizeof *all, compare_keys);
    size_t count = 0;
    for (size_t i = 0; i < pickle->storage_count; i++) {
        if (count == 0 || compare_keys(&all[count - 1], &all[i]) != 0)
            all[count++] = all[i];
        else if (all[count - 1].element != all[i].element ||
                 all[count - 1].count != all[i].count)
            return error_set(
                error, BERT_MODEL, "%s: storage %.*s is described in two ways", path,
                (int)(all[i].key.size < 60 ? all[i].key.size : 60), all[i].key.data);
    }
    state->count = count;
    return BERT_OK;
}

struct torch_storage *torch_state_find(const struct torch_state *state, struct span key) {
    struct torch_storage wanted = {.key = key};
    return bsearch(&wanted, state->storages, state->count, sizeof wanted, compare_keys);
}

void torch_state_end(struct torch_state *state) {
    free(state->storages);
    *state = (struct torch_state){0};
}

static bool holds_tensors(const struct pickle *pickle, uint32_t node) {
    struct pickle_walk walk = pickle_walk(pickle, node);
    while (pickle_kind(pickle, node) == PICKLE_DICT && pickle_next(pickle, &walk))
        if (pickle_tensor(pickle, walk.value))
            return true;
    return false;
}

/* The root, or the dict in it that holds tensors: trainers save {"state_dict": ...}. */
static uint32_t find_dict(const struct pickle *pickle) {
    if (holds_tensors(pickle, pickle->root))
        return pickle->root;
    struct pickle_walk walk = pickle_walk(pickle, pickle->root);
    size_t tries = 0; /* a root that lists one huge dict a million times */
    while (pickle_next(pickle, &walk) && tries++ < 64)
        if (holds_tensors(pickle, walk.value))
            return walk.value;
    return pickle->root;
}

/* Within its storage, and with a place for each element: a stride of 0 can make a tensor
 * of any size from a few bytes. */
static bool is_inside(const struct pickle_tensor *from, const struct tensor *tensor) {
    size_t size = element_size(tensor->element), extent, begin, end, room, count, bytes;
    return tensor_extent(tensor, &extent) && tensor_elements(tensor, &count) &&
           size_mul(count, size, &bytes) && bytes <= extent &&
           size_mul(from->offset, size, &begin) && size_add(begin, extent, &end) &&
           size_mul(from->storage.view_count, size, &room) && end <= room;
}

static enum bert_status add_tensor(const struct torch_state *state,
                                   const struct pickle_tensor *from, struct span name,
                                   struct checkpoint *checkpoint, const char *path,
                                   struct bert_error *error) {
    const struct torch_storage *storage = torch_state_find(state, from->storage.key);
    struct tensor tensor = {.element = from->storage.element, .rank = from->rank};
    memcpy(tensor.shape, from->shape, sizeof tensor.shape);
    memcpy(tensor.stride, from->stride, sizeof tensor.stride);
    int shown = (int)(name.size < 100 ? name.size : 100);
    if (!storage || !storage->data)
        return error_set(error, BERT_MODEL, "%s: the storage of %.*s is missing", path,
                         shown, name.data);
    if (!is_inside(from, &tensor))
        return error_set(error, BERT_MODEL, "%s: %.*s reaches beyond its storage", path,
                         shown, name.data);
    uint64_t first = from->storage.view_begin + from->offset;
    tensor.data = storage->data + first * element_size(tensor.element);
    return checkpoint_add(checkpoint, name, tensor, error);
}

enum bert_status torch_state_add(const struct torch_state *state,
                                 const struct pickle *pickle,
                                 struct checkpoint *checkpoint, const char *path,
                                 struct bert_error *error) {
    struct pickle_walk walk = pickle_walk(pickle, find_dict(pickle));
    enum bert_status status = BERT_OK;
    size_t added = 0;
    while (status == BERT_OK && pickle_next(pickle, &walk)) {
        struct span name;
        const struct pickle_tensor *tensor = pickle_tensor(pickle, walk.value);
        if (!tensor || !pickle_text(pickle, walk.key, &name))
            continue;
        status = add_tensor(state, tensor, name, checkpoint, path, error);
        added++;
    }
    if (status == BERT_OK && added == 0)
        return error_set(error, BERT_MODEL, "%s: no state dict of tensors in it", path);
    return status;
}
