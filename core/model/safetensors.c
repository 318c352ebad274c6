/* SPDX-License-Identifier: MIT
 *
 * safetensors.c: header, tensor entries, and the rule that they cover the data exactly.
 */
#include "model/safetensors.h"

enum bert_status safetensors_header(struct safetensors_header *header, const void *bytes,
                                    size_t size, const char *path,
                                    struct bert_error *error) {
    if (size < 8)
        return error_set(error, BERT_MODEL, "%s: only %zu bytes, no safetensors file",
                         path, size);
    uint64_t length = load_u64(bytes);
    if (length > SAFETENSORS_HEADER_MAX)
        return error_set(error, BERT_MODEL,
                         "%s: no safetensors file: a header of %llu bytes, at most %d",
                         path, (unsigned long long)length, SAFETENSORS_HEADER_MAX);
    if (length > size - 8)
        return error_set(error, BERT_MODEL,
                         "%s: truncated: header of %llu bytes in a file of %zu", path,
                         (unsigned long long)length, size);
    const char *text = (const char *)bytes + 8;
    if (length == 0 || text[0] != '{')
        return error_set(error, BERT_MODEL, "%s: no safetensors file", path);
    struct bert_error why;
    if (json_parse(&header->json, text, length, 0, &why) != BERT_OK)
        return error_set(error, BERT_MODEL, "%s: header: %s", path, why.message);
    header->data = 8 + (size_t)length;
    return BERT_OK;
}

static enum bert_status bad_tensor(const char *path, struct span name, const char *why,
                                   struct bert_error *error) {
    return error_set(error, BERT_MODEL, "%s: tensor %.100s: %s", path, name.data, why);
}

/* Reads one entry; begin and end are offsets into the data. */
static enum bert_status read_entry(const struct json_pair *pair, struct tensor *tensor,
                                   uint64_t *begin, uint64_t *end, const char *path,
                                   struct bert_error *error) {
    struct span type;
    const struct json *shape = json_member(pair->value, "shape");
    const struct json *offsets = json_member(pair->value, "data_offsets");
    if (!json_get_text(json_member(pair->value, "dtype"), &type) ||
        json_kind(shape) != JSON_KIND_LIST || json_count(offsets) != 2)
        return bad_tensor(path, pair->name, "dtype, shape or data_offsets are missing",
                          error);
    *tensor = (struct tensor){.element = element_named(type)};
    if (json_count(shape) > TENSOR_RANK)
        return bad_tensor(path, pair->name, "too many dimensions", error);
    tensor->rank = (int)json_count(shape);
    for (int i = 0; i < tensor->rank; i++) {
        int64_t extent;
        if (!json_get_whole(json_item(shape, (size_t)i), &extent) || extent < 0)
            return bad_tensor(path, pair->name, "bad shape", error);
        tensor->shape[i] = (uint64_t)extent;
    }
    int64_t from, to;
    if (!json_get_whole(json_item(offsets, 0), &from) ||
        !json_get_whole(json_item(offsets, 1), &to) || from < 0 || to < from)
        return bad_tensor(path, pair->name, "bad offsets", error);
    *begin = (uint64_t)from;
    *end = (uint64_t)to;
    size_t size;
    if (!tensor_elements(tensor, &size) ||
        !size_mul(size, element_size(tensor->element), &size))
        return bad_tensor(path, pair->name, "its shape overflows", error);
    if (tensor->element != ELEMENT_OTHER && size != *end - *begin)
        return bad_tensor(path, pair->name, "its shape does not match its bytes", error);
    tensor_pack_strides(tensor);
    return BERT_OK;
}

struct extent {
    uint64_t begin, end;
};

static int compare_extents(const void *a, const void *b) {
    const struct extent *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

/* The format allows neither overlaps nor holes: sorted, each begins where the last ended.
 */
static enum bert_status check_cover(struct extent *extents, size_t count, uint64_t size,
                                    const char *path, struct bert_error *error) {
    uint64_t at = 0;
    if (count)
        qsort(extents, count, sizeof *extents, compare_extents);
    for (size_t i = 0; i < count; i++) {
        if (extents[i].begin != at)
            return error_set(error, BERT_MODEL, "%s: tensors %s at byte %llu of the data",
                             path, extents[i].begin < at ? "overlap" : "leave a hole",
                             (unsigned long long)at);
        at = extents[i].end;
    }
    if (at != size)
        return error_set(
            error, BERT_MODEL,
            "%s: %s: the header describes %llu bytes of data, there are %llu", path,
            at > size ? "truncated" : "too long", (unsigned long long)at,
            (unsigned long long)size);
    return BERT_OK;
}

static enum bert_status read_tensors(struct checkpoint *checkpoint,
                                     const struct safetensors_header *header,
                                     const unsigned char *data, size_t size,
                                     const char *path, struct extent *extents,
                                     struct bert_error *error) {
    size_t count = 0;
    struct json_pair pair = {0};
    while (json_next(header->json, &pair)) {
        if (strcmp(pair.name.data, "__metadata__") == 0)
            continue;
        struct tensor tensor;
        struct extent *extent = &extents[count];
        enum bert_status status =
            read_entry(&pair, &tensor, &extent->begin, &extent->end, path, error);
        if (status != BERT_OK)
            return status;
        if (extent->end > size)
            return error_set(error, BERT_MODEL,
                             "%s: truncated: tensor %.100s ends at byte %llu of %llu",
                             path, pair.name.data, (unsigned long long)extent->end,
                             (unsigned long long)size);
        count++;
        tensor.data = data + extent->begin;
        status = checkpoint_add(checkpoint, pair.name, tensor, error);
        if (status != BERT_OK)
            return status;
    }
    return check_cover(extents, count, size, path, error);
}

enum bert_status safetensors_add(struct checkpoint *checkpoint,
                                 const struct safetensors_header *header,
                                 const void *bytes, size_t size, const char *path,
                                 struct bert_error *error) {
    struct extent *extents = calloc(json_count(header->json) + 1, sizeof *extents);
    if (!extents)
        return error_memory(error);
    const unsigned char *data = (const unsigned char *)bytes + header->data;
    enum bert_status status =
        read_tensors(checkpoint, header, data, size - header->data, path, extents, error);
    free(extents);
    return status;
}

enum bert_status safetensors_read(struct checkpoint *checkpoint, const char *path,
                                  struct bert_error *error) {
    struct mapping mapping;
    enum bert_status status = checkpoint_map(checkpoint, path, &mapping, error);
    if (status == BERT_OK)
        status = checkpoint_refuse_pointer(&mapping, path, error);
    struct safetensors_header header;
    if (status == BERT_OK)
        status = safetensors_header(&header, mapping.data, mapping.size, path, error);
    if (status != BERT_OK)
        return status;
    status =
        safetensors_add(checkpoint, &header, mapping.data, mapping.size, path, error);
    json_free(header.json);
    return status;
}

/* A listed file lies beside the index: a name that leads elsewhere is refused. */
static bool plain_name(struct span name) {
    return name.size > 0 && name.size < 256 && strlen(name.data) == name.size &&
           !strchr(name.data, '/') && name.data[0] != '.';
}

static enum bert_status collect_files(struct checkpoint *checkpoint,
                                      const struct json *map, const char *path,
                                      const char ***files, size_t *count,
                                      struct bert_error *error) {
    size_t capacity = 0;
    struct json_pair pair = {0};
    while (json_next(map, &pair)) {
        struct span name;
        if (!json_get_text(pair.value, &name) || !plain_name(name))
            return error_set(error, BERT_MODEL, "%s: bad file name for %.100s", path,
                             pair.name.data);
        size_t i = *count; /* tensors of one file follow each other, mostly */
        while (i > 0 && strcmp((*files)[i - 1], name.data) != 0)
            i--;
        if (i > 0)
            continue;
        if (*count == 4096)
            return error_set(error, BERT_MODEL, "%s: more than 4096 files", path);
        if (*count == capacity) {
            const char **larger =
                checkpoint_alloc(checkpoint, (capacity * 2 + 16) * sizeof **files);
            if (!larger)
                return error_memory(error);
            if (*count)
                memcpy(larger, *files, *count * sizeof **files);
            *files = larger;
            capacity = capacity * 2 + 16;
        }
        char *copy = arena_text(&checkpoint->arena, name.data, name.size);
        if (!copy)
            return error_memory(error);
        (*files)[(*count)++] = copy;
    }
    return BERT_OK;
}

enum bert_status safetensors_index(struct checkpoint *checkpoint, const char *path,
                                   const char ***files, size_t *count,
                                   struct bert_error *error) {
    struct mapping mapping;
    enum bert_status status = mapping_open(&mapping, path, true, error);
    if (status != BERT_OK)
        return status;
    struct json *json = NULL;
    struct bert_error why;
    *files = NULL;
    *count = 0;
    status = checkpoint_refuse_pointer(&mapping, path, error);
    if (status == BERT_OK && json_parse(&json, (const char *)mapping.data, mapping.size,
                                        SAFETENSORS_HEADER_MAX, &why) != BERT_OK)
        status = error_set(error, BERT_MODEL, "%s: %s", path, why.message);
    if (status == BERT_OK) {
        const struct json *map = json_member(json, "weight_map");
        status = json_count(map) == 0
                     ? error_set(error, BERT_MODEL, "%s: no weight_map in it", path)
                     : collect_files(checkpoint, map, path, files, count, error);
    }
    json_free(json);
    mapping_close(&mapping);
    return status;
}
