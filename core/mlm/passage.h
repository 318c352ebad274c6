/* SPDX-License-Identifier: MIT
 *
 * passage.h: a text as the model reads it: its tokens, its masks, and frames: the one
 * sequence around some masks in which slots are filled and asked for. */
#ifndef MLM_PASSAGE_H
#define MLM_PASSAGE_H

#include "base/arena.h"
#include "mlm/packer.h"
#include "text/mask.h"

struct mlm { /* what every search works with; one a session */
    const struct tokenizer *tokenizer;
    size_t positions; /* rows of the position table: the longest sequence */
    size_t rows;      /* of the embedding: at least the tokenizer's size */
    struct packer packer;
    struct arena results; /* until the session's next call */
    struct arena scratch; /* of one group of texts */
    struct arena step;    /* of one step of a search: replies that are read at once */
};

struct passage {
    struct span text;
    struct token_list tokens; /* of the text, without [CLS] and [SEP] */
    const int32_t *ids;       /* with them: tokens.count + 2 */
    const int32_t *context;   /* tokens read before the text */
    size_t context_count;
    struct mask_list masks;
    const char *error; /* why this text cannot be answered, or NULL */
    const char *note;  /* a remark for the user, or NULL */
};

/* Tokenizes into mlm->results. A text that cannot be read gets its error and BERT_OK. */
enum bert_status passage_read(struct passage *passage, struct mlm *mlm,
                              const struct bert_text *text,
                              const struct tokenize_options *options,
                              struct bert_error *error);

/* Sets passage->error, unless it has one, to a formatted line in mlm->results. */
void passage_fail(struct passage *passage, struct mlm *mlm, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Said of a text whose logits are NaN or infinite. */
#define PASSAGE_NOT_FINITE "the model gave a number that is not finite"

struct frame {
    int32_t *ids; /* [CLS] context text [SEP], every slot [MASK] */
    size_t count;
    size_t *slots; /* rows of the slots, rising */
    size_t slot_count;
    bool cut;       /* the text is longer than the frame */
    size_t context; /* how many tokens of the context's end are in it */
};

/* Room for any frame of this model; false without memory. */
bool frame_alloc(struct frame *frame, const struct mlm *mlm, struct arena *arena);

/* The frame around tokens slots[0] to slots[slot_count - 1] of the passage (rising), each
 * of which stands for widths[i] slots (NULL: one). What is too long is cut: first the
 * context's beginning, then the text, centred on that range and clamped to the text's
 * ends. Returns false when the range alone is too long. */
bool frame_around(struct frame *frame, const struct mlm *mlm,
                  const struct passage *passage, const struct mask_place *slots,
                  size_t slot_count, const int *widths);

#endif
