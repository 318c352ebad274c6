/* SPDX-License-Identifier: MIT
 *
 * records.h: one reader over text lines, CSV, TSV and JSON lines, from any number of
 * files. Every record keeps its own bytes, so that they can pass through unchanged,
 * beside what they read as. All is UTF-8 (source.h converts). */
#ifndef IO_RECORDS_H
#define IO_RECORDS_H

#include "base/bytes.h"
#include "base/status.h"
#include "io/source.h"

enum record_format {
    FORMAT_UNSET = -1,
    FORMAT_TEXT,
    FORMAT_CSV,
    FORMAT_TSV,
    FORMAT_JSONL
};

const char *record_format_name(enum record_format format); /* "text", "csv", ... */
/* What the names of the files, as far as they tell, all say; else fallback. BERT_USAGE
 * when they differ. */
enum bert_status record_format_of_all(const char *const *paths, size_t count,
                                      enum record_format fallback,
                                      enum record_format *format,
                                      struct bert_error *error);
/* By the ending (.csv .tsv .tab .jsonl .ndjson .txt), or fallback; path may be NULL. */
enum record_format record_format_of(const char *path, enum record_format fallback);

enum { RECORD_LIMIT = 64 << 20 }; /* bytes of one record */

struct cell {
    struct span raw;   /* as it stands in the input, quotes and escapes included */
    struct span value; /* what it reads as */
};

/* Zero-initialised once and then read into again and again; the spans are valid until the
 * next read into it. A record with status BERT_RECORD still has raw and the cells that
 * could be read. */
struct record {
    uint64_t number;        /* from 1; the header does not count */
    uint64_t line;          /* where it starts, from 1 in each file */
    uint64_t end;           /* bytes of the whole input up to here, line end included */
    uint64_t hash;          /* of all records up to here, the header included */
    uint64_t taken;         /* bytes of all inputs that were read, undecoded */
    enum encoding encoding; /* as decided; ENCODING_AUTO: all was ASCII */
    const char *file;       /* NULL: standard input; belongs to the reader */
    struct span raw;        /* all of it but the line end */
    struct span terminator; /* "\n", "\r\n", "\r", or "" at the end of a file */
    struct cell *cells; /* CSV, TSV: as many as there are. text: one. JSONL: those asked
                           for by records_column, raw unset */
    size_t count;
    bool is_torn;   /* CSV, TSV: it is broken or too long, so that cells are missing */
    bool is_object; /* JSONL: raw is an object, without the refused member */
    enum bert_status status; /* BERT_OK or BERT_RECORD */
    const char *error;       /* why */

    struct buffer memory, message; /* what the spans and error point into */
    size_t capacity;               /* of cells */
};
void record_release(struct record *record);

struct records;

struct records_options { /* all zero: text, UTF-8 or GB18030 as found */
    enum record_format format;
    char delimiter;       /* CSV; 0: comma */
    bool no_header;       /* CSV, TSV: the first row is a record */
    bool replace_invalid; /* values read U+FFFD for bytes that are no UTF-8, instead of
                             the record failing */
    struct source_options source;
    size_t limit; /* of one record; 0: RECORD_LIMIT */
};

/* Opens the inputs (none: standard input; "-" too) and reads the header. Other files must
 * have the header of the first, and regular ones are checked at once. Without a header
 * the first row tells the width, and must not be torn. Fails with BERT_IO, BERT_USAGE.
 * The options are copied, the paths are not. */
enum bert_status records_open(struct records **records, const char *const *paths,
                              size_t count, const struct records_options *options,
                              struct bert_error *error);
enum bert_status records_open_memory(struct records **records, const char *bytes,
                                     size_t size, const struct records_options *options,
                                     struct bert_error *error);
/* Each of count texts is a record of the text format, whatever it holds. They stay the
 * caller's. For operands. */
enum bert_status records_open_texts(struct records **records, const char *const *texts,
                                    size_t count, const struct records_options *options,
                                    struct bert_error *error);
void records_close(struct records *records); /* NULL is fine */

/* CSV, TSV with a header: it. Otherwise NULL. */
const struct record *records_header(const struct records *records);
/* How many cells a row of CSV or TSV must have: the header's, or the first row's. */
size_t records_width(const struct records *records);

/* Which cell of a record is the column of that name. Without a header columns are named
 * 1, 2, ...; a text line is column "text"; of JSONL any member may be asked for, before
 * the first records_next. BERT_USAGE when there is none, with the names that there are,
 * or when it stands twice. */
enum bert_status records_column(struct records *records, struct span name, size_t *cell,
                                struct bert_error *error);
/* JSONL: the cell of a member that a record may lack; it is empty then. Before the first
 * records_next, once. *cell is SIZE_MAX for the other formats. */
enum bert_status records_optional_member(struct records *records, const char *name,
                                         size_t *cell, struct bert_error *error);
/* A record of JSONL that has this member fails: the program wants to add it. name stays
 * the caller's. */
void records_refuse_member(struct records *records, const char *name);
/* By number, from 1 (CSV, TSV). */
enum bert_status records_column_number(struct records *records, size_t number,
                                       size_t *cell, struct bert_error *error);
/* The column "text", else the only one, else BERT_USAGE naming them. how: to choose one,
 * for the message ("with -c"). */
enum bert_status records_text_column(struct records *records, const char *how,
                                     size_t *cell, struct bert_error *error);

/* The next record, or *end. It fails only for reasons that concern the whole input. A CSV
 * row with too few or too many cells, an open quote, invalid UTF-8, broken JSON, a member
 * that is missing or no text, a record beyond the limit: BERT_RECORD in its status. */
enum bert_status records_next(struct records *records, struct record *record, bool *end,
                              struct bert_error *error);

struct records_progress { /* not while another thread is in records_next */
    uint64_t size;        /* bytes of all inputs; 0: unknown */
    bool stopped;         /* source_options.stop_fd ended it */
    bool empty;           /* not even a header, where there should be one */
};
void records_progress(const struct records *records, struct records_progress *progress);

#endif
