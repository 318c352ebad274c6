/* SPDX-License-Identifier: MIT
 *
 * fuzz_bertfile.c: the input is a model.bert; its checksum is put right first, which a
 * fuzzer would never do. */
#include "fuzz_file.h"

#include "model/bertfile.h"
#include "model/bertfile_format.h"
#include "model/safetensors.h"

static void repair(unsigned char *bytes, size_t size) {
    struct safetensors_header header;
    int64_t end;
    if (!bertfile_is(bytes, size) ||
        safetensors_header(&header, bytes, size, "fuzz", NULL) != BERT_OK)
        return;
    const struct json *offsets =
        json_member(json_member(header.json, BERTFILE_VOCABULARY), "data_offsets");
    if (json_get_whole(json_item(offsets, 1), &end) && end >= 0 &&
        (uint64_t)end <= size - header.data) {
        char digits[9];
        memcpy(bytes + BERTFILE_DIGITS, "00000000", 8);
        snprintf(digits, sizeof digits, "%08x",
                 crc32c(0, bytes, header.data + (size_t)end));
        memcpy(bytes + BERTFILE_DIGITS, digits, 8);
    }
    json_free(header.json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct bertfile file;
    struct weights weights;
    struct keeper keeper = {0};
    void *bytes;
    if (posix_memalign(&bytes, BERTFILE_ALIGNMENT, size + 1) != 0)
        return 0;
    memcpy(bytes, data, size);
    repair(bytes, size);
    if (bertfile_open(&file, bytes, size, "fuzz", NULL) == BERT_OK &&
        bertfile_weights(&file, &weights, &keeper, NULL) == BERT_OK)
        bertfile_verify(&file, NULL);
    keeper_release(&keeper);
    bertfile_release(&file);
    free(bytes);
    return 0;
}
