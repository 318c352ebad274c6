/* SPDX-License-Identifier: MIT
 *
 * torchlegacy.c: torch.save before PyTorch 1.6: five pickles (a magic number, a version,
 * facts of the system, the state dict, the storages' keys), then each storage as a count
 * of 8 bytes and its elements. Everything is read in the mapping. */
#include "model/torchfile.h"
#include "model/torchstate.h"

/* The first pickle: protocol 2, an integer of ten bytes, stop. */
static const unsigned char magic[] = {0x80, 0x02, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46,
                                      0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, 0x2e};

bool torchfile_is_legacy(const unsigned char *head, size_t size) {
    return size >= sizeof magic && memcmp(head, magic, sizeof magic) == 0;
}

static enum bert_status read_next(struct pickle *pickle, const struct mapping *mapping,
                                  size_t *at, const char *path,
                                  struct bert_error *error) {
    struct bert_error why;
    size_t used = 0;
    *pickle = (struct pickle){0};
    enum bert_status status =
        pickle_read(pickle, mapping->data + *at, mapping->size - *at, &used, &why);
    *at += used;
    return status == BERT_OK ? status
                             : error_set(error, status, "%s: %s", path, why.message);
}

static enum bert_status check_system(const struct pickle *pickle, const char *path,
                                     struct bert_error *error) {
    struct pickle_walk walk = pickle_walk(pickle, pickle->root);
    while (pickle_next(pickle, &walk)) {
        struct span name;
        bool truth;
        if (pickle_text(pickle, walk.key, &name) &&
            span_equal(name, span_of("little_endian")) &&
            pickle_truth(pickle, walk.value, &truth) && !truth)
            return error_set(error, BERT_MODEL, "%s: written on a big-endian machine",
                             path);
    }
    return BERT_OK;
}

/* at: behind the list of keys. */
static enum bert_status place_storages(struct torch_state *state,
                                       const struct pickle *keys,
                                       const struct mapping *mapping, size_t at,
                                       const char *path, struct bert_error *error) {
    struct pickle_walk walk = pickle_walk(keys, keys->root);
    while (pickle_next(keys, &walk)) {
        struct span key;
        if (!pickle_text(keys, walk.value, &key))
            return error_set(error, BERT_MODEL, "%s: a storage's key is no text", path);
        struct torch_storage *storage = torch_state_find(state, key);
        size_t size;
        if (!storage || storage->data)
            return error_set(error, BERT_MODEL, "%s: storage %.*s belongs to no tensor",
                             path, (int)(key.size < 60 ? key.size : 60), key.data);
        if (mapping->size - at < 8)
            return error_set(error, BERT_MODEL, "%s: truncated before storage %.*s", path,
                             (int)(key.size < 60 ? key.size : 60), key.data);
        if (load_u64(mapping->data + at) != storage->count ||
            !size_mul(storage->count, element_size(storage->element), &size))
            return error_set(error, BERT_MODEL,
                             "%s: storage %.*s has another size than its "
                             "tensors say",
                             path, (int)(key.size < 60 ? key.size : 60), key.data);
        if (size > mapping->size - at - 8)
            return error_set(error, BERT_MODEL, "%s: truncated in storage %.*s", path,
                             (int)(key.size < 60 ? key.size : 60), key.data);
        storage->data = mapping->data + at + 8;
        at += 8 + size;
    }
    return BERT_OK;
}

static enum bert_status read_state(struct checkpoint *checkpoint,
                                   const struct pickle *pickle,
                                   const struct mapping *mapping, size_t at,
                                   const char *path, struct bert_error *error) {
    struct torch_state state = {0};
    struct pickle keys = {0};
    enum bert_status status = torch_state_begin(&state, pickle, path, error);
    if (status == BERT_OK)
        status = read_next(&keys, mapping, &at, path, error);
    if (status == BERT_OK)
        status = place_storages(&state, &keys, mapping, at, path, error);
    if (status == BERT_OK)
        status = torch_state_add(&state, pickle, checkpoint, path, error);
    pickle_release(&keys);
    torch_state_end(&state);
    return status;
}

enum bert_status torchfile_read_legacy(struct checkpoint *checkpoint, const char *path,
                                       struct bert_error *error) {
    struct mapping mapping;
    enum bert_status status = checkpoint_map(checkpoint, path, &mapping, error);
    size_t at = sizeof magic;
    struct pickle version = {0}, system = {0}, object = {0};
    if (status == BERT_OK && mapping.size < at)
        status = error_set(error, BERT_MODEL, "%s: truncated", path);
    if (status == BERT_OK)
        status = read_next(&version, &mapping, &at, path, error);
    if (status == BERT_OK)
        status = read_next(&system, &mapping, &at, path, error);
    if (status == BERT_OK)
        status = check_system(&system, path, error);
    if (status == BERT_OK)
        status = read_next(&object, &mapping, &at, path, error);
    if (status == BERT_OK)
        status = read_state(checkpoint, &object, &mapping, at, path, error);
    pickle_release(&version);
    pickle_release(&system);
    pickle_release(&object);
    return status;
}
