/* SPDX-License-Identifier: MIT
 *
 * records.c: opens inputs one after another and hands out records, which record_build.c
 * makes from rows. */
#include "io/records_state.h"

#include <errno.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const format_names[] = {"text", "csv", "tsv", "jsonl"};

const char *record_format_name(enum record_format format) {
    return format == FORMAT_UNSET ? "unset" : format_names[format];
}

enum record_format record_format_of(const char *path, enum record_format fallback) {
    static const struct {
        const char *ending;
        enum record_format format;
    } known[] = {{".csv", FORMAT_CSV},      {".tsv", FORMAT_TSV},
                 {".tab", FORMAT_TSV},      {".jsonl", FORMAT_JSONL},
                 {".ndjson", FORMAT_JSONL}, {".txt", FORMAT_TEXT}};
    const char *dot = path ? strrchr(path, '.') : NULL;
    for (size_t i = 0; dot && i < sizeof known / sizeof *known; i++)
        if (strcasecmp(dot, known[i].ending) == 0)
            return known[i].format;
    return fallback;
}

enum bert_status record_format_of_all(const char *const *paths, size_t count,
                                      enum record_format fallback,
                                      enum record_format *format,
                                      struct bert_error *error) {
    const char *first = NULL;
    *format = fallback;
    for (size_t i = 0; i < count; i++) {
        enum record_format own = record_format_of(paths[i], FORMAT_UNSET);
        if (own == FORMAT_UNSET)
            continue;
        if (first && own != *format)
            return error_set(error, BERT_USAGE,
                             "by their names %s is %s, %s is %s: say --from, or run once "
                             "for each",
                             first, record_format_name(*format), paths[i],
                             record_format_name(own));
        *format = own;
        first = paths[i];
    }
    return BERT_OK;
}

/* ---- Inputs ---------------------------------------------------------------------- */

static enum bert_status open_source(struct records *records, struct bert_error *error) {
    const struct source_options *options = &records->options.source;
    enum bert_status status;
    if (records->memory.data) {
        records->file = "the file";
        status = source_open_memory(&records->source, records->memory.data,
                                    records->memory.size, options, error);
    } else {
        const char *path = records->path_count ? records->paths[records->next] : "-";
        records->file = strcmp(path, "-") == 0 ? NULL : path;
        status = source_open(&records->source, path, options, error);
    }
    records->next++;
    if (!status)
        rowscan_start(&records->scan, records->source,
                      records->options.format == FORMAT_CSV ? &records->csv : NULL,
                      records->options.limit);
    return status;
}

static void close_source(struct records *records) {
    records->taken += source_taken(records->source);
    records->stopped = source_stopped(records->source);
    source_close(records->source);
    records->source = NULL;
}

/* The next row of this file as a record; *end when the file has no more. */
static enum bert_status read_row(struct records *records, struct record *record,
                                 bool *end, struct bert_error *error) {
    for (;;) {
        struct row row;
        enum row_state state;
        enum bert_status status = rowscan_next(&records->scan, &row, &state, error);
        record->encoding = source_encoding(records->source);
        record->taken = records->taken + source_taken(records->source);
        *end = state == ROW_END;
        if (status || *end)
            return status;
        if (state == ROW_OK && record_is_blank(&records->builder, &row))
            continue;
        record->file = records->file;
        record->end = records->scan.end;
        record->hash = records->scan.hash;
        return record_build(&records->builder, record, &row, state, error);
    }
}

static bool same_cells(const struct record *a, const struct record *b) {
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = span_equal(a->cells[i].value, b->cells[i].value);
    return same;
}

static const char *name_of(const struct records *records) {
    return records->file ? records->file : "standard input";
}

static enum bert_status other_header(const struct records *records,
                                     struct bert_error *error) {
    return error_set(error, BERT_USAGE, "%s: its header is not that of the first file",
                     name_of(records));
}

/* Reads a file's header, or the first row where there is none. */
static enum bert_status read_head(struct records *records, struct bert_error *error) {
    if (!records_has_rows(records) ||
        (records->options.no_header && records->builder.width))
        return BERT_OK;
    bool end, header = !records->options.no_header;
    struct record other = {0};
    struct record *head = !header               ? &records->ahead
                          : records->has_header ? &other
                                                : &records->header;
    records->builder.is_header = header;
    enum bert_status status = read_row(records, head, &end, error);
    records->builder.is_header = false;
    if (!status && !end && (header ? head->status != BERT_OK : head->is_torn))
        status = error_set(error, BERT_USAGE, "%s:%llu: the %s: %s", name_of(records),
                           (unsigned long long)head->line,
                           header ? "header" : "first row", head->error);
    if (!status && !end && head == &other && !same_cells(head, &records->header))
        status = other_header(records, error);
    if (!status && !end) {
        records->builder.width = head->count;
        records->has_header = header;
        records->has_ahead = !header;
    }
    record_release(&other);
    return status;
}

static enum bert_status next_input(struct records *records, struct bert_error *error) {
    enum bert_status status = open_source(records, error);
    return status ? status : read_head(records, error);
}

/* A text where a file's name belongs is a common slip. */
static const char *hint(const char *path, int why) {
    bool ascii = true;
    for (const char *at = path; *at != '\0'; at++)
        ascii = ascii && (unsigned char)*at < 0x80;
    bool text = strstr(path, "[MASK]") || (!ascii && !strchr(path, '.'));
    return why == ENOENT && text ? "; an operand is a file, a text comes by a pipe" : "";
}

/* Files that cannot be read are better known before hours of work than after. */
static enum bert_status check_paths(struct records *records, struct bert_error *error) {
    bool known = true;
    struct stat about;
    for (size_t i = 0; i < records->path_count; i++) {
        const char *path = records->paths[i];
        bool standard = strcmp(path, "-") == 0;
        if ((standard ? fstat(STDIN_FILENO, &about) : stat(path, &about)) < 0 ||
            (!standard && access(path, R_OK) < 0))
            return error_set(error, BERT_IO, "%s: %s%s", path, strerror(errno),
                             hint(path, errno));
        if (S_ISDIR(about.st_mode))
            return error_set(error, BERT_IO, "%s: %s", path, strerror(EISDIR));
        known = known && S_ISREG(about.st_mode);
        records->size += (uint64_t)about.st_size;
    }
    if (!records->path_count && fstat(STDIN_FILENO, &about) == 0) {
        known = S_ISREG(about.st_mode);
        records->size = (uint64_t)about.st_size;
    }
    if (!known)
        records->size = 0;
    return BERT_OK;
}

static enum bert_status records_new(struct records **out,
                                    const struct records_options *options,
                                    struct bert_error *error) {
    struct records *records = calloc(1, sizeof *records);
    if (!records)
        return error_memory(error);
    if (options)
        records->options = *options;
    struct records_options *set = &records->options;
    set->format = set->format == FORMAT_UNSET ? FORMAT_TEXT : set->format;
    set->delimiter = set->delimiter ? set->delimiter : ',';
    set->limit = set->limit ? set->limit : RECORD_LIMIT;
    records->scan.hash = HASH_SEED;
    records->builder = (struct record_builder){.format = set->format,
                                               .csv = &records->csv,
                                               .delimiter = set->delimiter,
                                               .repair = set->replace_invalid,
                                               .limit = set->limit,
                                               .no_header = set->no_header};
    *out = records;
    if (set->format != FORMAT_CSV)
        return BERT_OK;
    enum bert_status status = csv_open(&records->csv, set->delimiter, error);
    if (status)
        records_close(records);
    return status;
}

/* Opening it anew starts at its beginning, and takes nothing from a later reader. */
static bool can_be_read_twice(const char *path) {
    struct stat about;
    return strcmp(path, "-") != 0 && strncmp(path, "/dev/", 5) != 0 &&
           stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

/* Another header, too, is better known before the work. */
static enum bert_status check_headers(const struct records *records,
                                      struct bert_error *error) {
    enum bert_status status = BERT_OK;
    for (size_t i = records->next; records->has_header && i < records->path_count; i++) {
        struct records *other;
        if (!can_be_read_twice(records->paths[i]))
            continue; /* its header is checked when its turn comes */
        status = records_open(&other, &records->paths[i], 1, &records->options, error);
        if (status)
            return status;
        if (other->has_header && !same_cells(&other->header, &records->header))
            status = other_header(other, error);
        records_close(other);
        if (status)
            return status;
    }
    return BERT_OK;
}

/* Opens the first input that has a header, where there should be one; the structure is
 * the caller's only when that succeeded. */
static enum bert_status begin(struct records **out, struct records *records,
                              enum bert_status status, struct bert_error *error) {
    if (!status)
        status = next_input(records, error);
    while (!status && records_has_rows(records) && !records->builder.width &&
           records->next < records->path_count) {
        close_source(records);
        status = next_input(records, error);
    }
    if (!status)
        status = check_headers(records, error);
    if (status)
        records_close(records);
    else
        *out = records;
    return status;
}

enum bert_status records_open(struct records **out, const char *const *paths,
                              size_t count, const struct records_options *options,
                              struct bert_error *error) {
    struct records *records;
    enum bert_status status = records_new(&records, options, error);
    if (status)
        return status;
    records->paths = paths;
    records->path_count = count;
    return begin(out, records, check_paths(records, error), error);
}

enum bert_status records_open_memory(struct records **out, const char *bytes, size_t size,
                                     const struct records_options *options,
                                     struct bert_error *error) {
    struct records *records;
    enum bert_status status = records_new(&records, options, error);
    if (status)
        return status;
    records->memory = (struct span){bytes ? bytes : "", size};
    records->size = size;
    return begin(out, records, BERT_OK, error);
}

enum bert_status records_open_texts(struct records **out, const char *const *texts,
                                    size_t count, const struct records_options *options,
                                    struct bert_error *error) {
    struct records_options plain = {0};
    if (options)
        plain = *options;
    plain.format = FORMAT_TEXT;
    enum bert_status status = records_new(out, &plain, error);
    if (status)
        return status;
    (*out)->paths = texts;
    (*out)->path_count = count;
    (*out)->texts = true;
    return BERT_OK;
}

void records_close(struct records *records) {
    if (!records)
        return;
    source_close(records->source);
    csv_close(&records->csv);
    record_release(&records->header);
    record_release(&records->ahead);
    buffer_release(&records->builder.scratch);
    for (size_t i = 0; i < records->builder.member_count; i++)
        free(records->members[i]);
    free(records->members);
    free(records);
}

/* ---- Records --------------------------------------------------------------------- */

static enum bert_status next_text(struct records *records, struct record *record,
                                  bool *end, struct bert_error *error) {
    *end = records->next == records->path_count;
    if (*end)
        return BERT_OK;
    struct row row = {.text = span_of(records->paths[records->next++]),
                      .terminator = span_of("\n"),
                      .line = records->number + 1};
    record->file = "operand";
    record->number = ++records->number;
    return record_build(&records->builder, record, &row, ROW_OK, error);
}

enum bert_status records_next(struct records *records, struct record *record, bool *end,
                              struct bert_error *error) {
    if (records->texts)
        return next_text(records, record, end, error);
    if (records->has_ahead) {
        struct record swap = *record;
        *record = records->ahead;
        records->ahead = swap;
        records->has_ahead = *end = false;
        record->number = ++records->number;
        return BERT_OK;
    }
    while (records->source ||
           (records->next < records->path_count && !records->stopped)) {
        enum bert_status status = records->source ? BERT_OK : next_input(records, error);
        if (status)
            return status;
        if (records->has_ahead) /* the first file that holds a row at all */
            return records_next(records, record, end, error);
        status = read_row(records, record, end, error);
        if (status)
            return status;
        if (!*end) {
            record->number = ++records->number;
            return BERT_OK;
        }
        close_source(records);
    }
    *end = true;
    return BERT_OK;
}

void records_progress(const struct records *records, struct records_progress *progress) {
    *progress = (struct records_progress){
        .size = records->size,
        .stopped =
            records->stopped || (records->source && source_stopped(records->source)),
        .empty = records_has_rows(records) && !records->builder.width};
}
