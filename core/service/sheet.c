/* SPDX-License-Identifier: MIT
 *
 * sheet.c: rows out. Where input and output have the same format, cells are copied as
 * they stand; else they are written anew. */
#include "service/sheet.h"

#include "io/csv.h"
#include "io/json.h"

static bool is_table(enum record_format format) {
    return format == FORMAT_CSV || format == FORMAT_TSV;
}

void sheet_release(struct sheet *sheet) {
    free(sheet->names);
    free(sheet->cells);
    free(sheet->fill);
    buffer_release(&sheet->memory);
    buffer_release(&sheet->line);
    sheet->names = NULL;
    sheet->cells = NULL;
    sheet->fill = NULL;
}

/* ---- Columns --------------------------------------------------------------------- */

static enum bert_status make_room(struct sheet *sheet, size_t count,
                                  struct bert_error *error) {
    sheet->names = calloc(count + 1, sizeof *sheet->names);
    sheet->cells = calloc(count + 1, sizeof *sheet->cells);
    return sheet->names && sheet->cells ? BERT_OK : error_memory(error);
}

/* A name of our own making; what memory holds must not move while names point into it. */
static struct span keep(struct sheet *sheet, struct span text) {
    size_t begin = sheet->memory.size;
    buffer_add(&sheet->memory, text.data, text.size);
    return (struct span){sheet->memory.data + begin, text.size};
}

static enum bert_status take_all(struct sheet *sheet, struct records *records,
                                 struct bert_error *error) {
    const struct record *header = records_header(records);
    size_t width = is_table(sheet->from) ? records_width(records) : 1;
    enum bert_status status = make_room(sheet, width, error);
    if (status)
        return status;
    if (!buffer_reserve(&sheet->memory, width * 24))
        return error_memory(error);
    sheet->count = width;
    for (size_t i = 0; i < width; i++) {
        char number[24];
        snprintf(number, sizeof number, "%zu", i + 1);
        sheet->cells[i] = i;
        sheet->names[i] = header                  ? header->cells[i].value
                          : is_table(sheet->from) ? keep(sheet, span_of(number))
                                                  : span_of("text");
    }
    return BERT_OK;
}

/* The i-th selected name: a column of the input, and not for the second time. */
static enum bert_status find_selected(struct sheet *sheet, struct records *records,
                                      size_t i, struct bert_error *error) {
    struct span name = sheet->names[i];
    for (size_t j = 0; j < i; j++)
        if (span_equal(sheet->names[j], name))
            return error_set(error, BERT_USAGE, "--select names the column '%.*s' twice",
                             (int)(name.size < 100 ? name.size : 100), name.data);
    return records_column(records, name, &sheet->cells[i], error);
}

static enum bert_status take_selected(struct sheet *sheet, struct records *records,
                                      struct bert_error *error) {
    struct csv csv;
    enum bert_status status = csv_open(&csv, ',', error);
    if (status)
        return status;
    struct span list = span_of(sheet->select);
    enum csv_state state = csv_row(&csv, list, true);
    if (state == CSV_MEMORY)
        status = error_memory(error);
    else if (state != CSV_ROW || csv.size != list.size || csv.count == 0)
        status = error_set(error, BERT_USAGE,
                           "--select: '%s' is not a list of names like id,text",
                           sheet->select);
    if (!status)
        status = make_room(sheet, csv.count, error);
    if (!status && !buffer_reserve(&sheet->memory, list.size))
        status = error_memory(error);
    for (size_t i = 0; !status && i < csv.count; i++) {
        const struct csv_cell *cell = &csv.cells[i];
        struct span name = {list.data + cell->start, cell->end - cell->start};
        size_t size = cell->value_end - cell->value;
        if (!cell->plain)
            name = (struct span){size ? csv.values.data + cell->value : "", size};
        sheet->names[i] = keep(sheet, name);
        sheet->count = i + 1;
        status = find_selected(sheet, records, i, error);
    }
    csv_close(&csv);
    return status;
}

/* The i-th column that is added to a table, or false. */
static bool added_name(const struct sheet *sheet, size_t i, char *name, size_t size) {
    const struct sheet_look *look = &sheet->look;
    size_t k = (size_t)look->k;
    const char *const last[] = {"label", "filled", "error"};
    size_t skip = look->labelled ? 0 : 1;
    if (i < 2 * k && k == 1)
        snprintf(name, size, "%s%s", sheet->prefix, i ? "confidence" : "prediction");
    else if (i < 2 * k)
        snprintf(name, size, "%s%s_%zu", sheet->prefix,
                 i < k ? "prediction" : "confidence", i % k + 1);
    else if (i - 2 * k + skip < 3)
        snprintf(name, size, "%s%s", sheet->prefix, last[i - 2 * k + skip]);
    else
        return false;
    return true;
}

static int compare_names(const void *left, const void *right) {
    const struct span *a = left, *b = right;
    if (a->size != b->size)
        return a->size < b->size ? -1 : 1;
    return a->size ? memcmp(a->data, b->data, a->size) : 0;
}

static bool exists(const struct sheet *sheet, struct span name) {
    for (size_t i = 0; i < sheet->count; i++)
        if (span_equal(sheet->names[i], name))
            return true;
    return false;
}

/* An object has no member twice. Sorted: there are tables of a million columns. */
static enum bert_status check_unique(const struct sheet *sheet,
                                     struct bert_error *error) {
    struct span *sorted = calloc(sheet->count + 1, sizeof *sorted);
    if (!sorted)
        return error_memory(error);
    if (sheet->count > 0)
        memcpy(sorted, sheet->names, sheet->count * sizeof *sorted);
    qsort(sorted, sheet->count, sizeof *sorted, compare_names);
    enum bert_status status = BERT_OK;
    for (size_t i = 1; i < sheet->count && status == BERT_OK; i++)
        if (span_equal(sorted[i - 1], sorted[i]))
            status = error_set(
                error, BERT_USAGE,
                "the column '%.*s' stands twice, which an object cannot have",
                (int)(sorted[i].size < 200 ? sorted[i].size : 200), sorted[i].data);
    free(sorted);
    return status;
}

static enum bert_status check_names(struct sheet *sheet, struct records *records,
                                    struct bert_error *error) {
    bool object = sheet->look.to == FORMAT_JSONL;
    char name[300];
    bool more = object || (is_table(sheet->look.to) && !sheet->no_header);
    for (size_t i = 0; more; i++) {
        more = object ? i == 0 : added_name(sheet, i, name, sizeof name);
        if (!more)
            break;
        if (exists(sheet, span_of(object ? sheet->fill : name)))
            return error_set(error, BERT_USAGE,
                             "the column '%s' exists already; --prefix=STR gives ours "
                             "other names",
                             object ? sheet->fill : name);
    }
    if (object && sheet->from == FORMAT_JSONL)
        records_refuse_member(records, sheet->fill);
    return object ? check_unique(sheet, error) : BERT_OK;
}

enum bert_status sheet_open(struct sheet *sheet, struct records *records,
                            struct bert_error *error) {
    struct buffer fill = {0};
    buffer_add_text(&fill, sheet->prefix);
    buffer_add_text(&fill, "fill");
    sheet->fill = buffer_text(&fill);
    if (!sheet->fill)
        return error_memory(error);
    bool objects = sheet->from == FORMAT_JSONL;
    snprintf(sheet->terminator, sizeof sheet->terminator, "%s", "");
    enum bert_status status = BERT_OK;
    if (objects && sheet->select && sheet->look.to == FORMAT_JSONL)
        return error_set(error, BERT_USAGE, "--select does not narrow JSON objects");
    if (objects && !sheet->select && is_table(sheet->look.to))
        return error_set(error, BERT_USAGE,
                         "--select must name the members that become columns");
    if (sheet->select && sheet->look.to != FORMAT_TEXT)
        status = take_selected(sheet, records, error);
    else if (!objects)
        status = take_all(sheet, records, error);
    return status ? status : check_names(sheet, records, error);
}

/* ---- Rows ------------------------------------------------------------------------ */

void sheet_pass_row(struct sheet *sheet, const struct record *record) {
    struct span own = record->terminator;
    if (!sheet->terminator[0] && own.size > 0)
        snprintf(sheet->terminator, sizeof sheet->terminator, "%.*s", (int)own.size,
                 own.data);
}

static void end_row(struct sheet *sheet, const struct record *record) {
    sheet_pass_row(sheet, record);
    struct span end = record->terminator;
    if (end.size == 0)
        end = span_of(sheet->terminator[0] ? sheet->terminator : "\n");
    if (sheet->crlf)
        end = span_of("\r\n");
    else if (sheet->from != sheet->look.to)
        end = span_of("\n");
    buffer_add(&sheet->line, end.data, end.size);
}

/* Lost memory in the middle of a row must not look like a row. */
static void put_line(struct sheet *sheet, struct sink *sink) {
    if (sheet->line.failed)
        sink_no_memory(sink);
    else
        sink_write(sink, sheet->line.data, sheet->line.size);
    sheet->line.size = 0;
}

static void put_cells(struct sheet *sheet, const struct record *record) {
    const struct sheet_look *look = &sheet->look;
    bool same = sheet->from == look->to;
    for (size_t i = 0; i < sheet->count; i++) {
        if (i > 0)
            buffer_add_byte(&sheet->line,
                            look->to == FORMAT_TSV ? '\t' : look->delimiter);
        if (sheet->cells[i] >= record->count)
            continue; /* a row that is too short */
        const struct cell *cell = &record->cells[sheet->cells[i]];
        if (same && !(look->guard && csv_is_formula(cell->value.data, cell->value.size)))
            buffer_add(&sheet->line, cell->raw.data, cell->raw.size);
        else
            sheet_put_cell(&sheet->line, look, cell->value);
    }
}

void sheet_put_header(struct sheet *sheet, const struct records *records,
                      struct sink *sink) {
    const struct sheet_look *look = &sheet->look;
    const struct record *header = records_header(records);
    if (!is_table(look->to))
        return;
    if (sheet->bom)
        buffer_add_text(&sheet->line, "\xef\xbb\xbf");
    static const struct record none = {.terminator = {"\n", 1}};
    char name[300];
    for (size_t i = 0; !sheet->no_header && i < sheet->count; i++) {
        if (i > 0)
            buffer_add_byte(&sheet->line,
                            look->to == FORMAT_TSV ? '\t' : look->delimiter);
        struct span own = sheet->names[i];
        bool same = header && sheet->from == look->to;
        if (same && !(look->guard && csv_is_formula(own.data, own.size)))
            buffer_add(&sheet->line, header->cells[sheet->cells[i]].raw.data,
                       header->cells[sheet->cells[i]].raw.size);
        else
            sheet_put_cell(&sheet->line, look, own);
    }
    for (size_t i = 0; !sheet->no_header && added_name(sheet, i, name, sizeof name);
         i++) {
        buffer_add_byte(&sheet->line, look->to == FORMAT_TSV ? '\t' : look->delimiter);
        sheet_put_cell(&sheet->line, look, span_of(name));
    }
    if (!sheet->no_header)
        end_row(sheet, header ? header : &none);
    put_line(sheet, sink);
}

/* The object's own bytes, with the answer before its last brace. */
static void put_into_object(struct sheet *sheet, const struct record *record) {
    struct span raw = record->raw;
    while (raw.size > 0 && raw.data[raw.size - 1] != '}')
        raw.size--; /* blanks */
    size_t before = raw.size - 1;
    while (before > 0 && memchr(" \t\r\n", raw.data[before - 1], 4))
        before--;
    bool empty = raw.data[before - 1] == '{';
    buffer_add(&sheet->line, raw.data, raw.size - 1);
    buffer_add_text(&sheet->line, empty ? "" : ",");
    json_put_text(&sheet->line, sheet->fill, strlen(sheet->fill));
    buffer_add_byte(&sheet->line, ':');
}

static void put_new_object(struct sheet *sheet, const struct record *record) {
    buffer_add_byte(&sheet->line, '{');
    for (size_t i = 0; i < sheet->count; i++) {
        struct span value = {"", 0};
        if (sheet->cells[i] < record->count)
            value = record->cells[sheet->cells[i]].value;
        json_put_text(&sheet->line, sheet->names[i].data, sheet->names[i].size);
        buffer_add_byte(&sheet->line, ':');
        json_put_text(&sheet->line, value.data, value.size);
        buffer_add_byte(&sheet->line, ',');
    }
    json_put_text(&sheet->line, sheet->fill, strlen(sheet->fill));
    buffer_add_byte(&sheet->line, ':');
}

/* A line that is no object has no place for an answer, nor an answer. */
static void put_no_object(struct sheet *sheet, const struct record *record,
                          const char *why) {
    buffer_printf(&sheet->line,
                  "{\"record\":%llu,\"text\":", (unsigned long long)record->number);
    json_put_text(&sheet->line, record->raw.data, record->raw.size);
    buffer_add_text(&sheet->line, ",\"error\":");
    json_put_text(&sheet->line, why, strlen(why));
}

void sheet_put_row(struct sheet *sheet, const struct record *record, struct span answer,
                   const char *why, struct sink *sink) {
    const struct sheet_look *look = &sheet->look;
    bool object = look->to == FORMAT_JSONL;
    bool broken = object && sheet->from == FORMAT_JSONL && !record->is_object;
    if (is_table(look->to))
        put_cells(sheet, record);
    else if (broken)
        put_no_object(sheet, record, why ? why : "");
    else if (object && sheet->from == FORMAT_JSONL)
        put_into_object(sheet, record);
    else if (object)
        put_new_object(sheet, record);
    if (why && !broken)
        sheet_put_error(&sheet->line, look, why);
    else if (!why)
        buffer_add(&sheet->line, answer.data, answer.size);
    if (object)
        buffer_add_byte(&sheet->line, '}');
    end_row(sheet, record);
    put_line(sheet, sink);
}
