/* SPDX-License-Identifier: MIT
 *
 * csv.c: the one file that knows the CSV library (libcsv). It decides what a byte means;
 * we hand it pieces that end where a cell can end, so that we know where each one lies.
 * The library's defaults would trim blanks, drop empty lines and accept an open quote. */
#include "io/csv.h"

#include <csv.h>

enum {
    OPTIONS = CSV_REPALL_NL, /* empty lines are told, too */
    /* Inside quotes a lone quote is an error; outside it is a character. */
    QUOTED = OPTIONS | CSV_STRICT,
    AT_END = QUOTED | CSV_STRICT_FINI,
    BLOCK = 4096 /* steps by which the library's cell grows */
};

static int no_space(unsigned char byte) {
    return 0;
}

enum bert_status csv_open(struct csv *csv, char delimiter, struct bert_error *error) {
    *csv = (struct csv){.delimiter = delimiter};
    struct csv_parser *parser = malloc(sizeof *parser);
    if (!parser || csv_init(parser, OPTIONS) != 0) {
        free(parser);
        return error_memory(error);
    }
    csv_set_delim(parser, (unsigned char)delimiter);
    csv_set_space_func(parser, no_space);
    csv_set_blk_size(parser, BLOCK);
    csv->parser = parser;
    csv_restart(csv);
    return BERT_OK;
}

void csv_close(struct csv *csv) {
    if (csv->parser)
        csv_free(csv->parser);
    free(csv->parser);
    free(csv->cells);
    buffer_release(&csv->values);
    *csv = (struct csv){0};
}

static void on_cell(void *bytes, size_t size, void *arg) {
    struct csv *csv = arg;
    if (csv->count == csv->capacity) {
        size_t capacity = csv->capacity ? csv->capacity * 2 : 16;
        struct csv_cell *cells = realloc(csv->cells, capacity * sizeof *cells);
        if (!cells) {
            csv->values.failed = true;
            return;
        }
        csv->cells = cells;
        csv->capacity = capacity;
    }
    struct csv_cell *cell = &csv->cells[csv->count++];
    *cell = (struct csv_cell){
        .start = csv->begin, .value = csv->values.size, .plain = !csv->quoted};
    if (csv->quoted && size > 0)
        buffer_add(&csv->values, bytes, size);
    cell->value_end = csv->values.size;
    csv->cell_done = true;
}

static void on_row(int terminator, void *arg) {
    struct csv *csv = arg;
    csv->row_done = true;
}

static void ignore_cell(void *bytes, size_t size, void *arg) {
}

static void ignore_row(int terminator, void *arg) {
}

void csv_restart(struct csv *csv) {
    csv_set_opts(csv->parser, OPTIONS);
    csv_fini(csv->parser, ignore_cell, ignore_row, NULL);
    csv->fed = 0;
    csv->quoted = csv->closing = csv->cell_done = csv->row_done = false;
}

bool csv_inside_quotes(const struct csv *csv) {
    return csv->quoted && !csv->closing;
}

/* Where the next piece ends: behind a byte that can end a cell, or that quotes. */
static size_t piece_end(struct csv *csv, struct span window) {
    size_t at = csv->fed;
    if (csv->quoted) {
        if (csv->closing) {
            csv->closing = false;
            return at + 1;
        }
        const char *quote = memchr(window.data + at, '"', window.size - at);
        csv->closing = quote != NULL;
        return quote ? (size_t)(quote - window.data) + 1 : window.size;
    }
    for (; at < window.size; at++) {
        char byte = window.data[at];
        if (byte == csv->delimiter || byte == '\n' || byte == '\r' || byte == '"')
            return at + 1;
    }
    return at;
}

/* Gives the parser one piece. False: a quoted cell has text behind its closing quote. */
static bool feed(struct csv *csv, struct span window) {
    struct csv_parser *parser = csv->parser;
    size_t end = piece_end(csv, window);
    csv->cell_done = false;
    csv_set_opts(parser, csv->quoted ? QUOTED : OPTIONS);
    size_t size = end - csv->fed;
    if (csv_parse(parser, window.data + csv->fed, size, on_cell, on_row, csv) != size) {
        csv->values.failed |= csv_error(parser) != CSV_EPARSE;
        return false;
    }
    csv->fed = end;
    csv->quoted = parser->quoted;
    if (csv->cell_done && csv->count > 0) {
        csv->cells[csv->count - 1].end = end - 1;
        csv->begin = end;
    }
    return true;
}

static enum csv_state finish(struct csv *csv, enum csv_state state, size_t size,
                             size_t terminator) {
    csv->size = size;
    csv->terminator = terminator;
    csv_restart(csv);
    return csv->values.failed ? CSV_MEMORY : state;
}

/* The window is all there is. */
static enum csv_state row_at_end(struct csv *csv, struct span window) {
    csv_set_opts(csv->parser, AT_END);
    if (csv_fini(csv->parser, on_cell, on_row, csv) != 0)
        return finish(csv, CSV_OPEN, window.size, 0);
    if (csv->count > 0)
        csv->cells[csv->count - 1].end = window.size;
    return finish(csv, CSV_ROW, window.size, 0);
}

enum csv_state csv_row(struct csv *csv, struct span window, bool last) {
    if (csv->fed == 0) {
        csv->begin = csv->count = csv->values.size = 0;
        csv->values.failed = false;
    }
    while (!csv->row_done && csv->fed < window.size) {
        if (!feed(csv, window))
            return finish(csv, CSV_BROKEN, csv->fed, 0);
    }
    if (!csv->row_done)
        return last ? row_at_end(csv, window) : CSV_MORE;
    size_t end = csv->fed - 1; /* of the row; fed is behind a CR or LF */
    if (window.data[end] == '\n')
        return finish(csv, CSV_ROW, end, 1);
    if (csv->fed == window.size && !last)
        return CSV_MORE; /* an LF may follow the CR */
    bool pair = csv->fed < window.size && window.data[csv->fed] == '\n';
    return finish(csv, CSV_ROW, end, pair ? 2 : 1);
}

void csv_put_cell(struct buffer *out, const char *bytes, size_t size, char delimiter) {
    bool quote = false;
    for (size_t i = 0; i < size && !quote; i++)
        quote = bytes[i] == delimiter || bytes[i] == '"' || bytes[i] == '\n' ||
                bytes[i] == '\r';
    if (!quote) {
        if (size > 0)
            buffer_add(out, bytes, size);
        return;
    }
    buffer_add_byte(out, '"');
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == '"')
            buffer_add_byte(out, '"');
        buffer_add_byte(out, bytes[i]);
    }
    buffer_add_byte(out, '"');
}

static size_t digits(const char *bytes, size_t size, size_t at) {
    while (at < size && bytes[at] >= '0' && bytes[at] <= '9')
        at++;
    return at;
}

bool csv_is_formula(const char *bytes, size_t size) {
    if (size == 0 || !memchr("=+-@\t\r", bytes[0], 6))
        return false;
    if (bytes[0] != '+' && bytes[0] != '-')
        return true;
    size_t at = digits(bytes, size, 1);
    bool number = at > 1;
    if (at < size && bytes[at] == '.') {
        size_t end = digits(bytes, size, at + 1);
        number |= end > at + 1;
        at = end;
    }
    if (number && at < size && (bytes[at] == 'e' || bytes[at] == 'E')) {
        bool sign = at + 1 < size && (bytes[at + 1] == '+' || bytes[at + 1] == '-');
        size_t end = digits(bytes, size, at + 1 + sign);
        number = end > at + 1 + sign;
        at = end;
    }
    return !number || at < size;
}
