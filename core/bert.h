/* SPDX-License-Identifier: MIT
 *
 * bert.h: the public interface of libbert: open a model, tokenize, fill, score, close.
 * It includes nothing of ours and holds plain types only, so every layer may include it.
 *
 * Conventions. All text is UTF-8 bytes with a length; offsets are bytes into the caller's
 * text, half-open. Probabilities are fractions, logarithms natural. A function that can
 * fail returns a bert_status and fills *error (which may be NULL). A model is immutable
 * once open and may be shared by threads; a session belongs to one caller at a time.
 * Results of bert_fill and bert_score live in the session until its next such call, those
 * of bert_tokenize and of bert_decode until the next of the same. The library never
 * prints or exits. */
#ifndef BERT_H
#define BERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum bert_status { /* also the exit status of the programs */
                   BERT_OK = 0,
                   BERT_RECORD = 1,   /* this text cannot be answered; others can */
                   BERT_USAGE = 2,    /* an option or a configuration is wrong */
                   BERT_MODEL = 3,    /* the model is missing or invalid */
                   BERT_IO = 4,       /* reading or writing failed */
                   BERT_INTERNAL = 5, /* memory, device or a defect */
};

struct bert_error {
    enum bert_status status;
    char message[500]; /* one line, no newline, control bytes escaped */
};

enum bert_precision { BERT_PRECISION_DEFAULT, BERT_F32, BERT_F16, BERT_INT8 };

/* ---- Models ---------------------------------------------------------------------- */

struct bert_model;

struct bert_open_options {
    const char *model;  /* a path (model.bert or a Hugging Face folder), or a name */
    const char *prefix; /* where installed models are searched, or NULL */
    enum bert_precision precision; /* default: the file's own; f32 for a folder */
    const char *device;  /* "auto-cpu", "auto-cuda", "cpu", "cuda", "cuda:N"; NULL: cpu */
    const char *cpu;     /* forces a kernel table by name, or NULL */
    bool tokenizer_only; /* no weights: bert_tokenize and bert_decode alone work */
    bool no_mmap;        /* read the weights instead of mapping them */
    void (*note)(void *arg, const char *line); /* remarks while opening, or NULL */
    void *note_arg;
};

struct bert_info { /* strings belong to the model */
    const char *path, *name, *source, *license;
    enum bert_precision precision;
    const char *device, *device_reason; /* "cpu" or "cuda:N (name)"; why that one */
    size_t batch_tokens;                /* good for a call on that device; 0: any */
    const char *kernel;                 /* name of the CPU kernel table */
    int layers, hidden, heads, intermediate, vocabulary, positions;
    bool lower_case;
    uint64_t identity; /* changes when weights, vocabulary or settings do */
};

enum bert_status bert_open(struct bert_model **model,
                           const struct bert_open_options *options,
                           struct bert_error *error);
void bert_close(struct bert_model *model); /* all sessions first; NULL is fine */
void bert_model_info(const struct bert_model *model, struct bert_info *info);

/* The vocabulary entry of an id ("##故"), NULL out of range; belongs to the model. */
const char *bert_token(const struct bert_model *model, int32_t id);

/* Names of kernel tables that this machine can run, space-separated; static. */
const char *bert_kernels(void);

/* What a model would run on here, for --version -v. cpu as in bert_open_options:
 * BERT_USAGE when there is no such table or this machine cannot run it. */
struct bert_machine {
    const char *kernel; /* the table chosen; static */
    const char *blis;   /* the architecture that BLIS chose ("skx"); static */
    char cuda[300];     /* "yes (name)" or "no (why)" */
};
enum bert_status bert_machine(struct bert_machine *machine, const char *cpu,
                              struct bert_error *error);

/* ---- Sessions -------------------------------------------------------------------- */

struct bert_session; /* a thread's working memory */

/* threads: cores that one call may use. 1 suits a worker among several (bulk); the number
 * of usable cores gives one caller the shortest answer. 0 means all usable cores. */
enum bert_status bert_session_new(struct bert_session **session, struct bert_model *model,
                                  int threads, struct bert_error *error);
void bert_session_free(struct bert_session *session);

struct bert_text {
    const char *bytes;
    size_t length;
    const char *context; /* read before the text, never shown, cut first; or NULL */
    size_t context_length;
};

/* ---- Tokenizing ------------------------------------------------------------------ */

/* Flags: add [CLS] and [SEP]; take [MASK] as plain text. */
enum { BERT_SPECIAL = 1, BERT_LITERAL = 2 };

struct bert_tokens {
    size_t count, unknown;
    const int32_t *ids;
    const size_t *starts, *ends; /* bytes; equal where a token has no text ([CLS]) */
};

enum bert_status bert_tokenize(struct bert_session *session, const char *text,
                               size_t length, unsigned flags, struct bert_tokens *tokens,
                               struct bert_error *error);

/* Ids back into text, as Hugging Face decodes; *text is NUL-terminated, of the session.
 */
enum bert_status bert_decode(struct bert_session *session, const int32_t *ids,
                             size_t count, bool skip_special, const char **text,
                             struct bert_error *error);

/* ---- Filling --------------------------------------------------------------------- */

struct bert_words; /* a compiled word list, bound to a model */

/* list: words separated by , ， 、 with optional labels ("好:满意,喜欢;差:失望"), or,
 * when lines is set, one word a line with an optional TAB and label. Words with unknown
 * tokens, blanks or masks are refused, all of them named (BERT_USAGE). baseline: a text
 * with one [MASK] whose answers divide each word's probability, or NULL. Free it before
 * the model. */
enum bert_status bert_words_new(struct bert_words **words, const struct bert_model *model,
                                const char *list, size_t length, bool lines,
                                const char *baseline, struct bert_error *error);
void bert_words_free(struct bert_words *words);
size_t bert_words_count(const struct bert_words *words);
bool bert_words_labelled(const struct bert_words *words);
/* Tokens that the model reads, at most, to answer one mask of a text of so many tokens:
 * the text once for each beginning that longer words have. */
size_t bert_words_cost(const struct bert_words *words, size_t tokens);

struct bert_fill_options { /* all zero is the default */
    int k;                 /* answers a mask; 0 means 5, or the whole list with words */
    bool han, no_punct, whole; /* only Han characters; no punctuation; no ## pieces. Words
                                  are not filtered */
    double threshold;          /* only probabilities of at least this */
    const char *const *mask_tokens; /* more spellings of [MASK] */
    size_t mask_token_count;
    const struct bert_words *words; /* only these, or NULL */
    bool joint; /* whole fillings over all masks; k at most 256; not with words */
    int span_min, span_max; /* characters a mask may stand for, 1 to 8; 0: no span */
    bool rank_total;        /* spans ranked by probability, not its mean */
};

struct bert_candidate {
    const char *word; /* the entry ("##故") or listed word; NUL-terminated */
    const int32_t *ids;
    int id_count;
    double probability; /* over the whole vocabulary; left-to-right for several tokens */
    double share;       /* with words: of the list; otherwise 0 */
    const char *label;  /* with words: or NULL */
    const char *text;   /* the whole text with this word in this mask; NUL-terminated */
    size_t text_length;
};

struct bert_label {
    const char *label;
    double share;
};

struct bert_mask {
    size_t offset, length; /* bytes of the mask in the text */
    size_t position;       /* its index in bert_result.ids */
    const struct bert_candidate *candidates;
    size_t candidate_count;
    const struct bert_label *labels; /* with labelled words, by falling share */
    size_t label_count;
};

struct bert_filling { /* with joint or span: one word a mask */
    size_t word_count;
    const char *const *words;
    const int32_t *const *ids;
    const int *id_counts;
    double probability, mean_log_probability;
    const char *text;
    size_t text_length;
};

struct bert_result {
    enum bert_status status; /* BERT_OK or BERT_RECORD */
    const char *error;       /* why, when not BERT_OK */
    const char *note;        /* a remark for the user ("text cut to a window"), or NULL */
    const int32_t *ids;      /* the whole text with [CLS] and [SEP] */
    size_t id_count;
    int32_t pad_id; /* of [PAD], which Hugging Face's pipeline drops; -1: none */
    const struct bert_mask *masks;
    size_t mask_count;
    const struct bert_filling *fillings;
    size_t filling_count;
    bool exact;      /* fillings are the best there are */
    size_t unscored; /* listed words left out as hopeless */
};

/* Fills count texts; results has room for count. A text that cannot be answered sets its
 * own result alone; the call fails only for reasons that concern all. */
enum bert_status bert_fill(struct bert_session *session, const struct bert_text *texts,
                           size_t count, const struct bert_fill_options *options,
                           struct bert_result *results, struct bert_error *error);

/* ---- Scoring --------------------------------------------------------------------- */

/* Least gain of a suspect, in nats, by default (tests/bench/tune_suspects.py). */
#define BERT_GAIN 13.2
#define BERT_SUSPECTS "default 13.2, at which 5 % of correct sentences raise an alarm"

struct bert_score_options {
    bool per_token;
    bool suspects;
    double gain; /* with suspects: the least gain; 0 means BERT_GAIN */
    int k;       /* with suspects: better characters shown; 0 means 3 */
};

struct bert_token_score {
    int32_t id;
    size_t start, end;      /* bytes */
    double log_probability; /* NaN for an unknown token, which no sum counts */
};

struct bert_suspect {
    size_t offset, length; /* bytes of the character */
    double probability, gain;
    const struct bert_candidate *better; /* word and probability alone are set */
    size_t better_count;
};

struct bert_score {
    enum bert_status status;
    const char *error;
    size_t tokens, unknown;
    double log_likelihood, mean, pseudo_perplexity; /* mean = sum / tokens; exp(-mean) */
    const struct bert_token_score *per_token; /* every token of the text, in order */
    size_t token_count;
    const struct bert_suspect *suspects; /* by falling gain */
    size_t suspect_count;
    const char *corrected; /* NUL-terminated; NULL without suspects option */
    size_t corrected_length;
};

enum bert_status bert_score(struct bert_session *session, const struct bert_text *texts,
                            size_t count, const struct bert_score_options *options,
                            struct bert_score *scores, struct bert_error *error);

#endif
