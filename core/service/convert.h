/* SPDX-License-Identifier: MIT
 *
 * convert.h: what bert-convert does: any checkpoint into a model.bert or a Hugging Face
 * folder, and looking into, verifying and comparing models. */
#ifndef SERVICE_CONVERT_H
#define SERVICE_CONVERT_H

#include "base/bytes.h"
#include "base/status.h"

struct convert_options {
    enum bert_precision precision; /* default: int8; for a folder that of the source */
    bool hugging_face; /* write a folder with model.safetensors instead of a model.bert */
    bool no_mmap;
    int jobs;            /* threads, at least 1 */
    const char *license; /* a line to keep in the file, or NULL */
    void (*note)(void *arg, const char *line);
    void (*progress)(void *arg, uint64_t done, uint64_t total); /* bytes of weights */
    bool (*stopped)(void *arg); /* asked before each write; true: fails, leaves no file */
    void *arg;
};

enum { CONVERT_SHA256 = 65 };

struct convert_file_facts {
    size_t tensors;
    uint64_t parameters, bytes;
    char sha256[CONVERT_SHA256]; /* of the file; of several (shards), one after the other
                                  */
};

struct convert_report {
    const char *source_format; /* static */
    struct convert_file_facts source, result;
    enum bert_precision precision;
    double seconds;
};

/* Writes output (a temporary file beside it, then a rename; a folder's weights last).
 * Fails with BERT_MODEL for the source, BERT_IO for the output, BERT_USAGE for an output
 * that cannot be one (a terminal). */
enum bert_status convert_run(const char *source, const char *output,
                             const struct convert_options *options,
                             struct convert_report *report, struct bert_error *error);

/* Appends a line for each tensor of any file that can be read: name, type, shape (sizes
 * with x between them), bytes, and the part of a BERT that it is, or nothing. json: one
 * object instead, with the file's metadata. */
enum bert_status convert_inspect(const char *path, bool no_mmap, bool json,
                                 struct buffer *out, struct bert_error *error);

/* Reads every byte of a model.bert. */
enum bert_status convert_verify(const char *path, bool no_mmap, uint64_t *bytes,
                                struct bert_error *error);

/* Fills one mask of a plain sentence: the words and the probability of the first answer,
 * NUL-terminated. A probability below CONVERT_SUSPICIOUS tells of a head that was never
 * trained. BERT_RECORD when the vocabulary has no such sentence. */
#define CONVERT_SUSPICIOUS 0.01
struct convert_answer {
    char text[100], word[100];
    double probability;
};
enum bert_status convert_self_test(struct bert_model *model,
                                   struct convert_answer *answer,
                                   struct bert_error *error);

struct convert_difference { /* zero-initialised; sums over all calls */
    size_t texts, failed, masks;
    size_t same_first,
        same_five;       /* masks with equal first answer, with equal first five */
    double largest, sum; /* of |p_a - p_b| over a's first five answers */
    size_t compared;
};
/* Fills the masks of one text with both models. An answer that b lacks among its first
 * hundred counts with probability 0 there. */
enum bert_status convert_compare(struct bert_session *a, struct bert_session *b,
                                 const char *text, size_t length,
                                 struct convert_difference *difference,
                                 struct bert_error *error);

#endif
