/* SPDX-License-Identifier: MIT
 *
 * record_build.c: all room that a record's values can take is reserved first, so that
 * spans into its memory stay good while it is built. */
#include "io/record_build.h"

#include "base/utf8.h"
#include "io/json.h"
#include "io/tsv.h"

#include <math.h>

enum { NUMBER_ROOM = 40 }; /* a number of JSON as text */

void record_release(struct record *record) {
    buffer_release(&record->memory);
    buffer_release(&record->message);
    free(record->cells);
    *record = (struct record){0};
}

/* The first reason stays. */
static bool fail_first(struct record *record) {
    if (record->status)
        return false;
    record->status = BERT_RECORD;
    record->message.size = 0;
    return true;
}

static void fail(struct record *record, const char *why) {
    if (fail_first(record))
        buffer_add_text(&record->message, why);
}

static struct cell *add_cell(struct record *record) {
    if (record->count == record->capacity) {
        size_t capacity = record->capacity ? record->capacity * 2 : 8;
        struct cell *cells = realloc(record->cells, capacity * sizeof *cells);
        if (!cells) {
            record->memory.failed = true;
            return NULL;
        }
        record->cells = cells;
        record->capacity = capacity;
    }
    struct cell *cell = &record->cells[record->count++];
    *cell = (struct cell){{"", 0}, {"", 0}};
    return cell;
}

static struct span add_bytes(struct record *record, struct span bytes) {
    size_t start = record->memory.size;
    if (bytes.size > 0)
        buffer_add(&record->memory, bytes.data, bytes.size);
    return (struct span){record->memory.data + start, bytes.size};
}

/* value lies in the record's memory already; its bytes are replaced by repaired ones. */
static void repair(struct record *record, struct span *value) {
    if (utf8_valid_prefix(value->data, value->size) == value->size)
        return;
    size_t start = record->memory.size;
    encoding_repair(&record->memory, value->data, value->size);
    *value = (struct span){record->memory.data + start, record->memory.size - start};
}

static void build_csv(struct record_builder *builder, struct record *record,
                      const struct row *row, enum row_state state) {
    const struct csv *csv = builder->csv;
    for (size_t i = 0; i < csv->count; i++) {
        const struct csv_cell *from = &csv->cells[i];
        struct cell *cell = add_cell(record);
        if (!cell)
            return;
        cell->raw =
            (struct span){record->raw.data + from->start, from->end - from->start};
        cell->value = cell->raw;
        size_t size = from->value_end - from->value;
        if (!from->plain)
            cell->value = add_bytes(
                record, (struct span){size ? csv->values.data + from->value : "", size});
    }
    struct cell *last = state != ROW_OK || csv->count == 0 ? add_cell(record) : NULL;
    if (state == ROW_OK || !last)
        return;
    /* The bad cell passes through as the characters that it is made of. */
    size_t start = record->memory.size;
    last->value = (struct span){record->raw.data + row->bad, record->raw.size - row->bad};
    csv_put_cell(&record->memory, last->value.data, last->value.size, builder->delimiter);
    last->raw = (struct span){record->memory.data + start, record->memory.size - start};
}

static void build_tsv(struct record *record) {
    struct span rest = record->raw;
    for (bool more = true; more;) {
        const char *tab = rest.size ? memchr(rest.data, '\t', rest.size) : NULL;
        size_t size = tab ? (size_t)(tab - rest.data) : rest.size;
        struct cell *cell = add_cell(record);
        if (!cell)
            return;
        cell->raw = cell->value = (struct span){rest.data, size};
        if (size > 0 && memchr(rest.data, '\\', size)) {
            size_t start = record->memory.size;
            tsv_read_cell(&record->memory, rest.data, size);
            cell->value =
                (struct span){record->memory.data + start, record->memory.size - start};
        }
        more = tab != NULL;
        rest = (struct span){rest.data + size + more, rest.size - size - more};
    }
}

/* A text as it is, numbers and truths as they are written. */
static void build_member(struct record *record, struct span line,
                         const struct json *object, const char *name, bool optional) {
    const struct json *member = json_member(object, name);
    struct cell *cell = add_cell(record);
    struct span text;
    double number;
    bool truth;
    char written[NUMBER_ROOM];
    if (!cell || (optional && !member))
        return;
    if (json_get_text(member, &text)) {
        cell->value = add_bytes(record, text);
    } else if (json_get_number(member, &number)) {
        snprintf(written, sizeof written, "%.15g", number);
        text = json_written_number(line, name);
        cell->value = add_bytes(record, text.size ? text : span_of(written));
    } else if (json_get_bool(member, &truth)) {
        cell->value = add_bytes(record, span_of(truth ? "true" : "false"));
    } else if (fail_first(record)) {
        if (member)
            buffer_printf(&record->message, "member '%s' is %s, not a text", name,
                          json_kind_name(json_kind(member)));
        else
            buffer_printf(&record->message, "no member '%s'", name);
    }
}

static void build_jsonl(struct record_builder *builder, struct record *record,
                        bool valid) {
    struct span line = record->raw;
    if (!valid && builder->repair) {
        builder->scratch.size = 0;
        encoding_repair(&builder->scratch, line.data, line.size);
        line = (struct span){builder->scratch.data, builder->scratch.size};
    }
    struct json *document = NULL;
    struct bert_error error;
    if (json_parse(&document, line.data, line.size, 0, &error))
        fail(record, error.message);
    else if (json_kind(document) != JSON_KIND_OBJECT && fail_first(record))
        buffer_printf(&record->message, "%s, not an object",
                      json_kind_name(json_kind(document)));
    else if (builder->refused && json_member(document, builder->refused) &&
             fail_first(record))
        buffer_printf(&record->message, "member '%s' exists already", builder->refused);
    record->is_object = !record->status;
    for (size_t i = 0; i < builder->member_count && !record->status; i++)
        build_member(record, line, document, builder->members[i],
                     builder->members[i] == builder->optional);
    while (record->count < builder->member_count && add_cell(record))
        ;
    json_free(document);
}

static void check_width(const struct record_builder *builder, struct record *record) {
    size_t width = builder->width, count = record->count;
    if (width == 0 || count == width || builder->is_header || !fail_first(record))
        return;
    buffer_printf(&record->message, "%zu cell%s, but the %s has %zu", count,
                  count == 1 ? "" : "s", builder->no_header ? "first row" : "header",
                  width);
    if (count < width)
        return;
    const char *surplus = record->cells[width].raw.data;
    buffer_add_text(&record->message, "; the surplus: ");
    buffer_add(&record->message, surplus,
               (size_t)(record->raw.data + record->raw.size - surplus));
}

bool record_is_blank(const struct record_builder *builder, const struct row *row) {
    if (builder->format == FORMAT_JSONL) {
        size_t i = 0;
        while (i < row->text.size && memchr(" \t\r", row->text.data[i], 3))
            i++;
        return i == row->text.size;
    }
    return (builder->format == FORMAT_CSV || builder->format == FORMAT_TSV) &&
           row->text.size == 0 && builder->width != 1;
}

static void build_cells(struct record_builder *builder, struct record *record,
                        const struct row *row, enum row_state state, bool valid) {
    struct cell *cell;
    switch (builder->format) {
    case FORMAT_CSV:
        build_csv(builder, record, row, state);
        break;
    case FORMAT_TSV:
        build_tsv(record);
        break;
    case FORMAT_JSONL:
        build_jsonl(builder, record, valid);
        break;
    case FORMAT_TEXT:
    case FORMAT_UNSET:
        cell = add_cell(record);
        if (cell)
            cell->raw = cell->value = record->raw;
    }
    if (state == ROW_OK &&
        (builder->format == FORMAT_CSV || builder->format == FORMAT_TSV))
        check_width(builder, record);
    if (!valid && builder->repair && builder->format != FORMAT_JSONL)
        for (size_t i = 0; i < record->count; i++)
            repair(record, &record->cells[i].value);
}

enum bert_status record_build(struct record_builder *builder, struct record *record,
                              const struct row *row, enum row_state state,
                              struct bert_error *error) {
    struct span text = row->text;
    size_t valid = text.size ? utf8_valid_prefix(text.data, text.size) : 0;
    bool repairs = valid < text.size && builder->repair;
    /* Values are no longer than the text, thrice that when repaired; a bad cell of CSV is
     * its characters doubled and quoted. */
    size_t times = (state == ROW_OK ? 2 : 4) + (repairs ? 3 : 0);
    size_t room = text.size * times + row->terminator.size + 2 +
                  builder->member_count * NUMBER_ROOM;
    record->memory.size = record->message.size = record->count = 0;
    record->memory.failed = record->message.failed = false;
    record->status = BERT_OK;
    record->error = NULL;
    record->is_object = false;
    record->is_torn = state != ROW_OK;
    record->line = row->line;
    if (!buffer_reserve(&record->memory, room))
        return error_memory(error);
    record->raw = add_bytes(record, text);
    record->terminator = add_bytes(record, row->terminator);
    if (state == ROW_TOO_LONG && fail_first(record))
        buffer_printf(&record->message, "longer than %zu bytes; left out",
                      builder->limit);
    else if (state == ROW_OPEN)
        fail(record, "a quote opened here is never closed");
    else if (state == ROW_BROKEN)
        fail(record, "text behind a closing quote");
    if (valid < text.size && !builder->repair && fail_first(record))
        buffer_printf(&record->message,
                      record->encoding == ENCODING_GB18030 ? "a byte that is not GB18030"
                                                           : "invalid UTF-8 at byte %zu",
                      valid + 1);
    if (state != ROW_TOO_LONG)
        build_cells(builder, record, row, state, valid == text.size);
    if (record->status)
        record->error = buffer_text(&record->message);
    bool failed = record->memory.failed || (record->status && !record->error);
    return failed ? error_memory(error) : BERT_OK;
}
