/* SPDX-License-Identifier: MIT
 *
 * ask.h: what a request body asks for, out of JSON, in each of the published shapes.
 * Pure: it knows neither connection nor model. */
#ifndef SERVICE_ASK_H
#define SERVICE_ASK_H

#include "base/bytes.h"
#include "base/status.h"
#include "io/json.h"
#include "service/target.h"

enum ask_shape {
    ASK_PREDICT,   /* {"text", "top_k", "words"} */
    ASK_FILL_MASK, /* {"inputs", "parameters": {"top_k", "targets", "truncate"}} */
};

enum {
    ASK_MOST_TEXTS = 128,
    ASK_MOST_K = 1000,
    ASK_MOST_WORDS = 1000,
    ASK_DEFAULT_K = 5,
};

struct ask {
    struct span *texts;
    size_t count;
    int k;                 /* 0: the whole list of words */
    struct buffer words;   /* as bert_words_new takes them; empty: none */
    bool word_lines;       /* one a line */
    bool targets;          /* words are Hugging Face's targets: one token each */
    bool refuse_long;      /* a text beyond the model's limit is an error, not cut */
    struct json *document; /* what the texts lead into */
};

/* Fails with BERT_RECORD and a message for the client, which never quotes the body; *code
 * becomes a word for programs: "bad_json", "bad_request". query: holds "text", "top_k"
 * and "words" instead of a body, or NULL. Release ask in any case. */
enum bert_status ask_parse(struct ask *ask, enum ask_shape shape, struct span body,
                           const struct target *query, const char **code,
                           struct bert_error *error);
void ask_release(struct ask *ask);

/* Words in a list that is written inline, or more: each separator counts. */
size_t ask_count_words(struct span list);

#endif
