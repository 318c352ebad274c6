/* SPDX-License-Identifier: MIT
 *
 * loader.h: opens any model that people have on disk: a model.bert file, a Hugging Face
 * folder (safetensors, sharded, pytorch_model.bin), and gives its weights, tokenizer
 * settings and vocabulary. */
#ifndef MODEL_LOADER_H
#define MODEL_LOADER_H

#include "base/bytes.h"
#include "base/status.h"
#include "model/weights.h"

struct loader_options {
    enum bert_precision precision; /* default: the file's own, f32 for a folder */
    bool no_mmap;
    bool tokenizer_only; /* config and vocabulary alone */
    void (*note)(void *arg, const char *line);
    void *note_arg;
};

struct tokenizer_settings {
    bool lower_case;    /* do_lower_case */
    bool strip_accents; /* follows lower_case unless set */
    bool split_chinese; /* tokenize_chinese_chars */
};

struct model_file; /* keeps mappings and converted tensors alive */

/* path: a file or a folder. Fails with BERT_MODEL and what to do. */
enum bert_status loader_open(struct model_file **file, const char *path,
                             const struct loader_options *options,
                             struct bert_error *error);
void loader_close(struct model_file *file);

const struct weights *
loader_weights(const struct model_file *file); /* NULL: tokenizer_only */
const struct tokenizer_settings *loader_tokenizer(const struct model_file *file);
/* The bytes of vocab.txt. */
struct span loader_vocabulary(const struct model_file *file);

struct loader_facts {   /* strings belong to the file; may be NULL */
    const char *format; /* "model.bert", "safetensors", "torch zip", "torch legacy" */
    const char *source, *license;
    uint64_t identity; /* see struct bert_info */
};
void loader_facts(const struct model_file *file, struct loader_facts *facts);

#endif
