/* SPDX-License-Identifier: MIT
 *
 * rowscan.c: rows out of a window that grows until it holds one. */
#include "io/rowscan.h"

void rowscan_start(struct rowscan *scan, struct source *source, struct csv *csv,
                   size_t limit) {
    scan->source = source;
    scan->csv = csv;
    scan->limit = limit;
    scan->line = 1;
    scan->shown = 0;
}

/* LF, CR, and CRLF as one. */
static uint64_t count_lines(const char *bytes, size_t size) {
    uint64_t lines = 0;
    for (const char *at = bytes, *end = bytes + size; at < end; at++) {
        at = memchr(at, '\n', (size_t)(end - at));
        if (!at)
            break;
        lines++;
    }
    for (const char *at = bytes, *end = bytes + size; at < end; at++) {
        at = memchr(at, '\r', (size_t)(end - at));
        if (!at)
            break;
        lines += at + 1 == end || at[1] != '\n';
    }
    return lines;
}

static void show(struct rowscan *scan, struct row *row, const char *bytes, size_t size,
                 size_t terminator) {
    row->text = (struct span){bytes, size};
    row->terminator = (struct span){bytes + size, terminator};
    row->line = scan->line;
    row->bad = 0;
    scan->shown = size + terminator;
    scan->line += (scan->csv ? count_lines(bytes, size) : 0) + (terminator > 0);
    scan->end += scan->shown;
    scan->hash = hash_bytes(scan->hash, bytes, scan->shown);
}

/* The line from `from` on ends at *end; false: its end is not in the window. A CR ends a
 * line of CSV only, and may be half of a CRLF where the window ends. */
static bool find_line_end(const struct rowscan *scan, struct span window, size_t from,
                          bool last, size_t *end, size_t *terminator) {
    const char *start = window.data + from;
    const char *lf = memchr(start, '\n', window.size - from);
    size_t stop = lf ? (size_t)(lf - window.data) : window.size;
    const char *cr = scan->csv ? memchr(start, '\r', stop - from) : NULL;
    if (cr) {
        *end = (size_t)(cr - window.data);
        if (*end + 1 == window.size && !last)
            return false;
        *terminator = *end + 1 == stop && lf ? 2 : 1;
        return true;
    }
    *end = stop;
    *terminator = lf != NULL;
    if (lf && stop > 0 && window.data[stop - 1] == '\r' && !scan->csv) {
        (*end)--;
        *terminator = 2;
    }
    return lf || last;
}

/* What is longer than the limit is hashed by its first bytes and its length: the window's
 * size is chance, and the hash must not be. */
static enum bert_status skip_line(struct rowscan *scan, struct row *row,
                                  struct bert_error *error) {
    struct span window;
    enum bert_status status = source_window(scan->source, 1, &window, error);
    if (status)
        return status;
    uint64_t hash = hash_bytes(scan->hash, window.data, scan->limit), size = 0;
    show(scan, row, window.data, 0, 0);
    for (;;) {
        const char *lf = memchr(window.data, '\n', window.size);
        size_t part = lf ? (size_t)(lf - window.data) + 1 : window.size;
        source_consume(scan->source, part);
        size += part;
        if (lf)
            break;
        status = source_window(scan->source, 1, &window, error);
        if (status)
            return status;
        if (window.size == 0)
            break;
    }
    scan->end += size;
    scan->line++;
    scan->hash = hash_bytes(hash, &size, sizeof size);
    row->terminator = span_of("\n");
    return BERT_OK;
}

enum look { LOOK_FOUND, LOOK_MORE, LOOK_MEMORY };

/* A broken row of CSV ends with the line of its bad cell, so that what follows is read.
 */
static enum look cut_broken(struct rowscan *scan, struct span window, bool last,
                            size_t from, struct row *row) {
    size_t bad = scan->csv->begin, end, terminator;
    if (!find_line_end(scan, window, from, last, &end, &terminator))
        return LOOK_MORE;
    uint64_t line = scan->line + count_lines(window.data, bad);
    show(scan, row, window.data, end, terminator);
    row->line = line;
    row->bad = bad;
    return LOOK_FOUND;
}

/* full: the window is as long as a row may be. */
static enum look look_csv(struct rowscan *scan, struct span window, bool last, bool full,
                          struct row *row, enum row_state *state) {
    struct csv *csv = scan->csv;
    switch (csv_row(csv, window, last)) {
    case CSV_ROW:
        show(scan, row, window.data, csv->size, csv->terminator);
        return LOOK_FOUND;
    case CSV_MORE:
        if (!full)
            return LOOK_MORE;
        bool open = csv_inside_quotes(csv);
        csv_restart(csv);
        if (!open)
            return LOOK_MORE;
        *state = ROW_OPEN;
        return cut_broken(scan, window, last, csv->begin, row);
    case CSV_OPEN:
        *state = ROW_OPEN;
        return cut_broken(scan, window, last, csv->begin, row);
    case CSV_BROKEN:
        *state = ROW_BROKEN;
        return cut_broken(scan, window, last, csv->size, row);
    case CSV_MEMORY:
        break;
    }
    return LOOK_MEMORY;
}

static enum look look_line(struct rowscan *scan, struct span window, bool last,
                           size_t seen, struct row *row) {
    size_t end, terminator;
    if (!find_line_end(scan, window, seen, last, &end, &terminator))
        return LOOK_MORE;
    show(scan, row, window.data, end, terminator);
    return LOOK_FOUND;
}

enum bert_status rowscan_next(struct rowscan *scan, struct row *row,
                              enum row_state *state, struct bert_error *error) {
    source_consume(scan->source, scan->shown);
    scan->shown = 0;
    enum row_state torn = ROW_OK; /* else nothing but the end of its line is looked for */
    for (size_t seen = 0;;) {
        struct span window;
        enum bert_status status = source_window(scan->source, seen + 1, &window, error);
        if (status)
            return status;
        bool last = window.size <= seen, full = window.size > scan->limit;
        if (full) { /* so that what is found does not depend on how much was read ahead */
            window.size = scan->limit + 1;
            last = false;
        }
        *state = ROW_END;
        if (window.size == 0 || (last && source_stopped(scan->source)))
            return BERT_OK;
        *state = torn;
        enum look look = torn        ? cut_broken(scan, window, last, seen - 1, row)
                         : scan->csv ? look_csv(scan, window, last, full, row, state)
                                     : look_line(scan, window, last, seen, row);
        if (look == LOOK_FOUND)
            return BERT_OK;
        if (look == LOOK_MEMORY)
            return error_memory(error);
        if (full) {
            *state = ROW_TOO_LONG;
            return skip_line(scan, row, error);
        }
        torn = *state;
        seen = window.size;
    }
}
