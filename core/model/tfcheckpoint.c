/* SPDX-License-Identifier: MIT
 *
 * tfcheckpoint.c: just as much of LevelDB's table and of protocol buffers as the index
 * needs. Tensors of types that we cannot use are left out. */
#include "model/tfcheckpoint.h"

#include "base/path.h"
#include "model/checksum.h"

enum { FOOTER = 48, TRAILER = 5, KEY_MAX = 1024, SHARDS_MAX = 4096 };

static const uint64_t table_magic = 0xdb4775248b80fb57u;

/* A cursor over bytes; failed is sticky and reads give 0. */
struct reader {
    const unsigned char *at, *end;
    bool failed;
};

static struct reader reader_of(struct span bytes) {
    const unsigned char *at = (const unsigned char *)(bytes.data ? bytes.data : "");
    return (struct reader){at, at + bytes.size, false};
}

static uint64_t read_varint(struct reader *reader) {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && reader->at < reader->end; shift += 7) {
        unsigned char byte = *reader->at++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return value;
    }
    reader->failed = true;
    return 0;
}

static struct span read_bytes(struct reader *reader, uint64_t size) {
    if (reader->failed || size > (uint64_t)(reader->end - reader->at)) {
        reader->failed = true;
        return (struct span){"", 0};
    }
    struct span bytes = {(const char *)reader->at, (size_t)size};
    reader->at += size;
    return bytes;
}

/* ---- Protocol buffers ---- */

struct field {
    uint64_t number, value;
    struct span bytes; /* of a message or string */
};

static bool next_field(struct reader *reader, struct field *field) {
    if (reader->failed || reader->at == reader->end)
        return false;
    uint64_t tag = read_varint(reader);
    *field = (struct field){.number = tag >> 3};
    switch (tag & 7) {
    case 0:
        field->value = read_varint(reader);
        break;
    case 1:
        read_bytes(reader, 8);
        break;
    case 2:
        field->bytes = read_bytes(reader, read_varint(reader));
        break;
    case 5:
        read_bytes(reader, 4);
        break;
    default:
        reader->failed = true;
    }
    return !reader->failed;
}

struct entry {
    uint64_t type, shard, offset, size;
    int rank;
    uint64_t shape[TENSOR_RANK];
    bool sliced;
};

static bool parse_shape(struct span bytes, struct entry *entry) {
    struct reader reader = reader_of(bytes);
    struct field field, inner;
    while (next_field(&reader, &field)) {
        if (field.number != 2)
            continue;
        if (entry->rank == TENSOR_RANK)
            return false;
        struct reader dimension = reader_of(field.bytes);
        uint64_t size = 0;
        while (next_field(&dimension, &inner))
            if (inner.number == 1)
                size = inner.value;
        entry->shape[entry->rank++] = size;
        reader.failed |= dimension.failed;
    }
    return !reader.failed;
}

static bool parse_entry(struct span bytes, struct entry *entry) {
    struct reader reader = reader_of(bytes);
    struct field field;
    *entry = (struct entry){0};
    while (next_field(&reader, &field)) {
        if (field.number == 1)
            entry->type = field.value;
        else if (field.number == 2 && !parse_shape(field.bytes, entry))
            return false;
        else if (field.number == 3)
            entry->shard = field.value;
        else if (field.number == 4)
            entry->offset = field.value;
        else if (field.number == 5)
            entry->size = field.value;
        else if (field.number == 7)
            entry->sliced = true;
    }
    return !reader.failed;
}

static enum element element_of(uint64_t type) {
    static const enum element elements[] = {
        [1] = ELEMENT_F32,   [2] = ELEMENT_F64, [3] = ELEMENT_I32, [4] = ELEMENT_U8,
        [5] = ELEMENT_I16,   [6] = ELEMENT_I8,  [9] = ELEMENT_I64, [10] = ELEMENT_BOOL,
        [14] = ELEMENT_BF16, [19] = ELEMENT_F16};
    return type < sizeof elements / sizeof *elements ? elements[type] : ELEMENT_OTHER;
}

/* ---- The table ---- */

struct table_reader {
    struct checkpoint *checkpoint;
    struct span index;
    const struct span *shards;
    uint64_t shard_count; /* 0: only the header is wanted */
    const char *name;
    bool has_header;
    uint64_t header_shards;
    char key[KEY_MAX + 1], last[KEY_MAX + 1];
    size_t key_size;
    struct bert_error *error;
};

static enum bert_status damaged(const struct table_reader *table, const char *why) {
    return error_set(table->error, BERT_MODEL, "%s: damaged: %s", table->name, why);
}

/* A block's contents, after its type and checksum. */
static enum bert_status read_block(const struct table_reader *table, uint64_t offset,
                                   uint64_t size, struct span *block) {
    size_t total = table->index.size - FOOTER;
    if (offset > total || size > total - offset || total - offset - size < TRAILER)
        return damaged(table, "a block lies outside the file");
    const char *bytes = table->index.data + offset;
    if (bytes[size] == 1)
        return error_set(table->error, BERT_MODEL,
                         "%s: has blocks compressed with snappy, which cannot be read",
                         table->name);
    uint32_t crc = crc32c(0, bytes, size + 1);
    crc = (crc >> 15 | crc << 17) + 0xa282ead8u;
    if (bytes[size] != 0 || crc != load_u32(bytes + size + 1))
        return damaged(table, "the checksum of a block is wrong");
    *block = (struct span){bytes, size};
    return BERT_OK;
}

static enum bert_status take_header(struct table_reader *table, struct span value) {
    struct reader reader = reader_of(value);
    struct field field;
    table->has_header = true;
    while (next_field(&reader, &field)) {
        if (field.number == 1)
            table->header_shards = field.value;
        if (field.number == 2 && field.value != 0)
            return error_set(table->error, BERT_MODEL,
                             "%s: written on a big-endian machine", table->name);
    }
    if (reader.failed || table->header_shards < 1 || table->header_shards > SHARDS_MAX)
        return damaged(table, "its header is invalid");
    if (table->shard_count && table->shard_count != table->header_shards)
        return damaged(table, "it demands another number of data files");
    return BERT_OK;
}

static enum bert_status take_tensor(struct table_reader *table, struct span value) {
    struct entry entry;
    struct span name = {table->key, table->key_size};
    if (!parse_entry(value, &entry))
        return damaged(table, "an entry is invalid");
    struct tensor tensor = {.element = element_of(entry.type), .rank = entry.rank};
    if (tensor.element == ELEMENT_OTHER || entry.sliced)
        return BERT_OK;
    memcpy(tensor.shape, entry.shape, sizeof tensor.shape);
    size_t size;
    if (!tensor_elements(&tensor, &size) ||
        !size_mul(size, element_size(tensor.element), &size) || size != entry.size)
        return error_set(table->error, BERT_MODEL,
                         "%s: tensor %.100s: its shape does not match its bytes",
                         table->name, table->key);
    const struct span *shard =
        entry.shard < table->shard_count ? &table->shards[entry.shard] : NULL;
    if (!shard || entry.offset > shard->size || entry.size > shard->size - entry.offset)
        return error_set(
            table->error, BERT_MODEL,
            "%s: tensor %.100s lies outside its data file, which may be truncated",
            table->name, table->key);
    tensor_pack_strides(&tensor);
    tensor.data = (const unsigned char *)shard->data + entry.offset;
    return checkpoint_add(table->checkpoint, name, tensor, table->error);
}

/* The keys of a table rise strictly; the first, the empty one, is the header. */
static enum bert_status take_entry(struct table_reader *table, struct span value) {
    if (!table->has_header)
        return table->key_size ? damaged(table, "no header") : take_header(table, value);
    if (strlen(table->key) != table->key_size || strcmp(table->key, table->last) <= 0)
        return damaged(table, "its names are out of order");
    memcpy(table->last, table->key, table->key_size + 1);
    return take_tensor(table, value);
}

/* One entry of a block: its key shares a prefix with the one before. */
static bool read_entry(struct reader *reader, char key[KEY_MAX + 1], size_t *key_size,
                       struct span *value) {
    uint64_t shared = read_varint(reader), rest = read_varint(reader);
    uint64_t value_size = read_varint(reader);
    if (reader->failed || shared > *key_size || rest > KEY_MAX - shared)
        return false;
    struct span tail = read_bytes(reader, rest);
    *value = read_bytes(reader, value_size);
    if (reader->failed)
        return false;
    memcpy(key + shared, tail.data, tail.size);
    *key_size = (size_t)(shared + rest);
    key[*key_size] = '\0';
    return true;
}

/* The entries without the restart points behind them. */
static bool block_entries(struct span block, struct reader *reader) {
    if (block.size < 4)
        return false;
    uint64_t restarts = load_u32(block.data + block.size - 4);
    if (restarts > (block.size - 4) / 4)
        return false;
    *reader = reader_of((struct span){block.data, block.size - 4 - 4 * (size_t)restarts});
    return true;
}

static enum bert_status read_data_block(struct table_reader *table, uint64_t offset,
                                        uint64_t size) {
    struct span block, value;
    struct reader reader;
    enum bert_status status = read_block(table, offset, size, &block);
    if (status == BERT_OK && !block_entries(block, &reader))
        status = damaged(table, "a block is too short");
    table->key_size = 0;
    while (status == BERT_OK && reader.at < reader.end) {
        if (!read_entry(&reader, table->key, &table->key_size, &value))
            return damaged(table, "an entry is cut");
        status = take_entry(table, value);
        if (table->shard_count == 0)
            break;
    }
    return status;
}

static enum bert_status read_table(struct table_reader *table) {
    struct span index = table->index, block, value;
    if (index.size < FOOTER || load_u64(index.data + index.size - 8) != table_magic)
        return error_set(table->error, BERT_MODEL,
                         "%s: truncated, or no TensorFlow checkpoint index", table->name);
    struct reader reader =
        reader_of((struct span){index.data + index.size - FOOTER, FOOTER - 8});
    read_varint(&reader); /* the meta index: offset and size */
    read_varint(&reader);
    uint64_t offset = read_varint(&reader), size = read_varint(&reader);
    if (reader.failed)
        return damaged(table, "its footer is invalid");
    enum bert_status status = read_block(table, offset, size, &block);
    if (status == BERT_OK && !block_entries(block, &reader))
        status = damaged(table, "a block is too short");
    char key[KEY_MAX + 1];
    size_t key_size = 0;
    while (status == BERT_OK && reader.at < reader.end) {
        if (!read_entry(&reader, key, &key_size, &value))
            return damaged(table, "an entry is cut");
        struct reader handle = reader_of(value);
        offset = read_varint(&handle);
        size = read_varint(&handle);
        status = handle.failed ? damaged(table, "an entry is cut")
                               : read_data_block(table, offset, size);
        if (table->shard_count == 0)
            break;
    }
    if (status == BERT_OK && !table->has_header)
        status = damaged(table, "no header");
    return status;
}

enum bert_status tfcheckpoint_parse(struct checkpoint *checkpoint, struct span index,
                                    const struct span *shards, uint64_t *count,
                                    const char *name, struct bert_error *error) {
    struct table_reader table = {.checkpoint = checkpoint,
                                 .index = index,
                                 .shards = shards,
                                 .shard_count = *count,
                                 .name = name,
                                 .error = error};
    enum bert_status status = read_table(&table);
    *count = table.header_shards;
    return status;
}

/* ---- Files ---- */

/* The length of path without .index or .data-00000-of-00001. */
static size_t prefix_length(const char *path) {
    size_t size = strlen(path), tail = strlen(".data-00000-of-00001");
    if (text_ends_with(path, ".index"))
        return size - strlen(".index");
    if (size > tail && strncmp(path + size - tail, ".data-", 6) == 0 &&
        strncmp(path + size - 9, "-of-", 4) == 0)
        return size - tail;
    return size;
}

static char *index_of(const char *path) {
    struct buffer name = {0};
    buffer_add(&name, path, prefix_length(path));
    buffer_add_text(&name, ".index");
    if (!buffer_text(&name))
        buffer_release(&name);
    return name.data;
}

bool tfcheckpoint_is(const char *path) {
    if (prefix_length(path) != strlen(path))
        return true;
    if (path_exists(path))
        return false;
    char *index = index_of(path);
    bool exists = index && path_exists(index);
    free(index);
    return exists;
}

static enum bert_status map_shards(struct checkpoint *checkpoint, const char *path,
                                   uint64_t count, struct span *shards,
                                   struct bert_error *error) {
    enum bert_status status = BERT_OK;
    for (uint64_t i = 0; status == BERT_OK && i < count; i++) {
        struct buffer name = {0};
        struct mapping mapping;
        buffer_add(&name, path, prefix_length(path));
        buffer_printf(&name, ".data-%05llu-of-%05llu", (unsigned long long)i,
                      (unsigned long long)count);
        status = buffer_text(&name)
                     ? checkpoint_map(checkpoint, name.data, &mapping, error)
                     : error_memory(error);
        if (status == BERT_OK) {
            shards[i] = (struct span){(const char *)mapping.data, mapping.size};
            status = checkpoint_refuse_pointer(&mapping, name.data, error);
        }
        buffer_release(&name);
    }
    return status;
}

enum bert_status tfcheckpoint_read(struct checkpoint *checkpoint, const char *path,
                                   struct bert_error *error) {
    char *name = index_of(path);
    if (!name)
        return error_memory(error);
    struct mapping mapping;
    enum bert_status status = checkpoint_map(checkpoint, name, &mapping, error);
    if (status == BERT_OK)
        status = checkpoint_refuse_pointer(&mapping, name, error);
    struct span index = {0}, *shards = NULL;
    uint64_t count = 0;
    if (status == BERT_OK) {
        index = (struct span){(const char *)mapping.data, mapping.size};
        status = tfcheckpoint_parse(checkpoint, index, NULL, &count, name, error);
    }
    if (status == BERT_OK && !(shards = calloc((size_t)count, sizeof *shards)))
        status = error_memory(error);
    if (status == BERT_OK)
        status = map_shards(checkpoint, path, count, shards, error);
    if (status == BERT_OK)
        status = tfcheckpoint_parse(checkpoint, index, shards, &count, name, error);
    free(shards);
    free(name);
    return status;
}
