/* SPDX-License-Identifier: MIT
 *
 * tokenizer_decode.c: the WordPiece decoder of Hugging Face: each token but the first
 * brings a blank in front or loses its ##, and each is cleaned up by itself. */
#include "text/tokenizer.h"

/* Its replacements, in its order. */
static const char *const replacements[][2] = {
    {" .", "."},   {" ?", "?"},     {" !", "!"},     {" ,", ","},
    {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},   {" do not", " don't"},
    {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
};

/* Replaces in what out holds from start on. */
static void replace(struct buffer *out, size_t start, const char *from, const char *to) {
    size_t from_size = strlen(from), to_size = strlen(to); /* never longer than from */
    size_t write = start;
    for (size_t read = start; read < out->size;) {
        if (out->size - read >= from_size &&
            memcmp(out->data + read, from, from_size) == 0) {
            memcpy(out->data + write, to, to_size);
            write += to_size;
            read += from_size;
        } else {
            out->data[write++] = out->data[read++];
        }
    }
    out->size = write;
}

enum bert_status tokenizer_decode(const struct tokenizer *tokenizer, const int32_t *ids,
                                  size_t count, bool skip_special, bool clean_up,
                                  struct buffer *out, struct bert_error *error) {
    const uint64_t *special = tokenizer_class(tokenizer, ENTRY_SPECIAL);
    bool first = true;
    for (size_t i = 0; i < count; i++) {
        const char *entry = tokenizer_entry(tokenizer, ids[i]);
        if (entry == NULL)
            return error_set(error, BERT_RECORD,
                             "no token has id %d: ids go from 0 to %d", (int)ids[i],
                             (int)tokenizer_size(tokenizer) - 1);
        if (skip_special && (special[ids[i] / 64] >> (ids[i] % 64) & 1))
            continue;
        size_t start = out->size;
        if (!first && strncmp(entry, "##", 2) == 0)
            entry += 2;
        else if (!first)
            buffer_add_byte(out, ' ');
        buffer_add_text(out, entry);
        first = false;
        for (size_t r = 0; clean_up && r < sizeof replacements / sizeof *replacements;
             r++)
            replace(out, start, replacements[r][0], replacements[r][1]);
    }
    return out->failed ? error_memory(error) : BERT_OK;
}
