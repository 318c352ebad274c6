/* SPDX-License-Identifier: MIT
 *
 * fuzz_tf_index.c: the input is an index file; and once more, it is the contents of a
 * data block, around which an index with good checksums is built. */
#include "fuzz_checkpoint.h"
#include "fuzz_file.h"

#include "model/checksum.h"
#include "model/tfcheckpoint.h"

static void parse(struct span index) {
    static char bytes[4096];
    const struct span shard = {bytes, sizeof bytes};
    struct checkpoint checkpoint = {.path = "fuzz"};
    uint64_t count = 0;
    arena_init(&checkpoint.arena);
    if (tfcheckpoint_parse(&checkpoint, index, NULL, &count, "fuzz", NULL) == BERT_OK) {
        count = 1;
        if (tfcheckpoint_parse(&checkpoint, index, &shard, &count, "fuzz", NULL) ==
                BERT_OK &&
            checkpoint_index(&checkpoint, NULL) == BERT_OK)
            touch_tensors(&checkpoint);
    }
    checkpoint_close(&checkpoint);
}

static void add_u32(struct buffer *out, uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8)
        buffer_add_byte(out, (char)(value >> shift));
}

static void add_varint(struct buffer *out, size_t value) {
    for (; value > 127; value >>= 7)
        buffer_add_byte(out, (char)(value | 128));
    buffer_add_byte(out, (char)value);
}

/* Ends the block that began at begin: no compression, and the checksum. */
static void end_block(struct buffer *out, size_t begin) {
    buffer_add_byte(out, 0);
    uint32_t crc = crc32c(0, out->data + begin, out->size - begin);
    add_u32(out, (crc >> 15 | crc << 17) + 0xa282ead8u);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    parse((struct span){(const char *)data, size});
    struct buffer index = {0}, handle = {0};
    buffer_add(&index, data, size);
    end_block(&index, 0);
    size_t begin = index.size;
    add_varint(&handle, 0);
    add_varint(&handle, size);
    buffer_add(&index, "\0\1", 2); /* no shared prefix, a key of one byte */
    add_varint(&index, handle.size);
    buffer_add_byte(&index, 'k');
    buffer_add(&index, handle.data, handle.size);
    add_u32(&index, 0);
    add_u32(&index, 1);
    size_t length = index.size - begin;
    end_block(&index, begin);
    size_t footer = index.size;
    buffer_add(&index, "\0\0", 2);
    add_varint(&index, begin);
    add_varint(&index, length);
    while (index.size < footer + 40)
        buffer_add_byte(&index, 0);
    add_u32(&index, 0x8b80fb57u);
    add_u32(&index, 0xdb477524u);
    parse((struct span){index.data, index.size});
    buffer_release(&index);
    buffer_release(&handle);
    return 0;
}
