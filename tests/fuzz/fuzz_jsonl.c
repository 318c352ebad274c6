/* SPDX-License-Identifier: MIT
 *
 * fuzz_jsonl.c: any bytes as JSON lines. Whatever a line holds, what bert-batch writes
 * for it is one line of good JSON. */
#include "io/json.h"
#include "service/sheet.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds)
        abort();
}

static void check_row(struct sheet *sheet, const struct record *record) {
    struct buffer out = {0};
    struct sink *sink;
    struct json *document;
    require(sink_open_memory(&sink, &out, NULL) == BERT_OK);
    sheet_put_row(sheet, record, span_of("{\"prediction\":\"x\"}"), record->error, sink);
    require(sink_close(sink, SINK_COMMIT, NULL) == BERT_OK);
    require(out.size > 1 && out.data[out.size - 1] == '\n');
    require(memchr(out.data, '\n', out.size - 1) == NULL);
    /* One level deeper than the deepest that is read is fine for others, not for us. */
    struct bert_error error;
    if (json_parse(&document, out.data, out.size, 0, &error))
        require(strstr(error.message, "deep") != NULL);
    else {
        const char *name = record->is_object ? "fill" : "error";
        require(json_kind(document) == JSON_KIND_OBJECT && json_member(document, name));
        json_free(document);
    }
    buffer_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct records_options options = {.format = FORMAT_JSONL,
                                      .source.encoding = ENCODING_UTF8};
    struct records *records;
    struct record record = {0};
    struct sheet sheet = {
        .look = {.to = FORMAT_JSONL, .k = 1}, .from = FORMAT_JSONL, .prefix = ""};
    size_t cell;
    if (records_open_memory(&records, (const char *)data, size, &options, NULL))
        return 0;
    require(records_column(records, span_of("text"), &cell, NULL) == BERT_OK);
    require(sheet_open(&sheet, records, NULL) == BERT_OK);
    for (bool end = false;;) {
        enum bert_status status = records_next(records, &record, &end, NULL);
        require(status == BERT_OK || status == BERT_USAGE); /* UTF-16 */
        if (end || status)
            break;
        require(record.count == 1 && (record.is_object || record.status));
        check_row(&sheet, &record);
    }
    sheet_release(&sheet);
    record_release(&record);
    records_close(records);
    return 0;
}
