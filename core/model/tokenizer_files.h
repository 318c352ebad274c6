/* SPDX-License-Identifier: MIT
 *
 * tokenizer_files.h: vocab.txt, tokenizer_config.json and tokenizer.json of a folder. */
#ifndef MODEL_TOKENIZER_FILES_H
#define MODEL_TOKENIZER_FILES_H

#include "model/config.h"
#include "model/loader.h"

struct tokenizer_files {
    struct tokenizer_settings settings;
    struct buffer owned;    /* of a vocabulary that was read or made */
    struct span vocabulary; /* the bytes of a vocab.txt */
};

/* The vocabulary is vocab.txt, else that of tokenizer.json, else, for a model of 21128
 * entries, the built-in one of bert-base-chinese (cased) with a note. Release owned. */
enum bert_status tokenizer_files_read(struct tokenizer_files *files, const char *folder,
                                      int vocabulary_size,
                                      const struct loader_options *options,
                                      struct bert_error *error);

/* Entries: lines, the last one with or without its LF. */
size_t vocabulary_lines(struct span vocabulary);

/* A JSON object of do_lower_case, strip_accents and tokenize_chinese_chars; absent ones
 * keep the default of BertTokenizer. */
enum bert_status tokenizer_settings_parse(struct tokenizer_settings *settings,
                                          struct span text, const char *name,
                                          struct bert_error *error);
void tokenizer_settings_write(const struct tokenizer_settings *settings,
                              struct buffer *out);

#endif
