/* SPDX-License-Identifier: MIT
 *
 * fuzz_csv.c: any bytes as CSV, TSV or lines. The first byte chooses. Cells lie in their
 * record, offsets rise to the input's end, and a good row written anew reads the same. */
#include "io/csv.h"
#include "io/records.h"
#include "io/tsv.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds)
        abort();
}

static bool inside(const struct record *record, struct span part) {
    const char *begin = record->memory.data;
    return part.size == 0 ||
           (part.data >= begin && part.data + part.size <= begin + record->memory.size);
}

static void write_row(const struct record *record, const struct records_options *options,
                      struct buffer *out) {
    for (size_t i = 0; i < record->count; i++) {
        struct span value = record->cells[i].value;
        if (i > 0)
            buffer_add_byte(out,
                            options->format == FORMAT_CSV ? options->delimiter : '\t');
        if (options->format == FORMAT_CSV)
            csv_put_cell(out, value.data, value.size, options->delimiter);
        else
            tsv_put_cell(out, value.data, value.size);
    }
    buffer_add_byte(out, '\n');
}

/* A row alone: without a header, it is the first record. */
static void check_again(const struct record *record,
                        const struct records_options *options) {
    struct records_options alone = *options;
    struct records *records;
    struct record again = {0};
    struct buffer out = {0};
    bool end;
    alone.no_header = true;
    alone.source.encoding = ENCODING_UTF8;
    alone.limit = 0;
    write_row(record, options, &out);
    require(records_open_memory(&records, out.data, out.size, &alone, NULL) == BERT_OK);
    require(records_next(records, &again, &end, NULL) == BERT_OK);
    require(!end && again.status == BERT_OK && again.count == record->count);
    for (size_t i = 0; i < again.count; i++)
        require(span_equal(again.cells[i].value, record->cells[i].value));
    record_release(&again);
    records_close(records);
    buffer_release(&out);
}

static void check_record(const struct record *record,
                         const struct records_options *options) {
    require(inside(record, record->raw) && inside(record, record->terminator));
    for (size_t i = 0; i < record->count; i++)
        require(inside(record, record->cells[i].raw) &&
                inside(record, record->cells[i].value));
    require((record->status == BERT_OK) == (record->error == NULL));
    bool table = options->format == FORMAT_CSV || options->format == FORMAT_TSV;
    bool blank = record->count == 1 && record->cells[0].value.size == 0;
    bool mark = record->count > 0 && record->cells[0].value.size >= 3 &&
                memcmp(record->cells[0].value.data, "\xef\xbb\xbf", 3) == 0;
    if (table && !record->status && !blank && !mark)
        check_again(record, options);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    static const enum record_format formats[] = {FORMAT_CSV, FORMAT_TSV, FORMAT_TEXT,
                                                 FORMAT_CSV};
    static const enum encoding encodings[] = {ENCODING_AUTO, ENCODING_UTF8,
                                              ENCODING_GB18030, ENCODING_UTF8};
    unsigned bits = data[0];
    struct records_options options = {.format = formats[bits & 3],
                                      .delimiter = bits & 4 ? ';' : ',',
                                      .no_header = bits & 8,
                                      .replace_invalid = bits & 16,
                                      .limit = bits & 128 ? 40 : 0};
    options.source.encoding = encodings[bits >> 5 & 3];
    struct records *records;
    struct record record = {0};
    if (records_open_memory(&records, (const char *)data + 1, size - 1, &options, NULL))
        return 0;
    bool end = false;
    for (uint64_t number = 1, before = 0;; number++, before = record.end) {
        enum bert_status status = records_next(records, &record, &end, NULL);
        require(status == BERT_OK || status == BERT_USAGE); /* UTF-16 */
        if (end || status)
            break;
        require(record.number == number && record.end > before);
        check_record(&record, &options);
    }
    record_release(&record);
    records_close(records);
    return 0;
}
