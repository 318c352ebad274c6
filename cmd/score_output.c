/* SPDX-License-Identifier: MIT
 *
 * score_output.c: rows and objects of bert-score. */
#include "score_output.h"

#include "stream.h"

#include "base/utf8.h"
#include "io/json.h"
#include "io/tsv.h"

#include <string.h>

const char *score_output_header(const struct score_look *look) {
    if (look->shape != SCORE_TSV)
        return NULL;
    if (look->pair[0])
        return "record\tchoice\tmean_1\tmean_2\ttext";
    if (look->suspects)
        return "record\toffset\tcharacter\tprobability\tgain\tbetter\tcorrected";
    if (look->per_token)
        return "record\toffset\ttoken\tlog_probability";
    return "record\ttokens\tunknown\tlog_likelihood\tmean\tpseudo_perplexity\ttext";
}

/* Offsets in code points, counted on from the last one where they rise. */
struct walk {
    const struct bert_text *text;
    bool bytes;
    size_t at, characters;
};

static size_t place(struct walk *walk, size_t offset) {
    if (walk->bytes)
        return offset;
    if (offset < walk->at)
        walk->at = walk->characters = 0;
    walk->characters += utf8_count(walk->text->bytes + walk->at, offset - walk->at);
    walk->at = offset;
    return walk->characters;
}

/* ---- TSV ---- */

static void put_sums(struct buffer *out, const struct bert_text *text,
                     const struct bert_score *score) {
    buffer_printf(out, "%zu\t%zu\t%.6g\t%.6g\t%.6g\t", score->tokens, score->unknown,
                  score->log_likelihood, score->mean, score->pseudo_perplexity);
    tsv_put_cell(out, text->bytes, text->length);
    buffer_add_byte(out, '\n');
}

static void put_token_rows(struct buffer *out, struct walk *walk,
                           const struct bert_model *model,
                           const struct bert_score *score) {
    for (size_t i = 0; i < score->token_count; i++) {
        const struct bert_token_score *token = &score->per_token[i];
        const char *entry = bert_token(model, token->id);
        buffer_printf(out, "%zu\t", place(walk, token->start));
        tsv_put_cell(out, entry, strlen(entry));
        if (token->log_probability <= 0)
            buffer_printf(out, "\t%.6g\n", token->log_probability);
        else
            buffer_add_text(out, "\t\n"); /* unknown */
    }
}

static void put_suspect_rows(struct buffer *out, struct walk *walk,
                             const struct bert_score *score) {
    for (size_t i = 0; i < score->suspect_count; i++) {
        const struct bert_suspect *suspect = &score->suspects[i];
        buffer_printf(out, "%zu\t", place(walk, suspect->offset));
        tsv_put_cell(out, walk->text->bytes + suspect->offset, suspect->length);
        buffer_printf(out, "\t%.6g\t%.6g\t", suspect->probability, suspect->gain);
        for (size_t j = 0; j < suspect->better_count; j++) {
            buffer_add_text(out, j ? " " : "");
            tsv_put_cell(out, suspect->better[j].word, strlen(suspect->better[j].word));
        }
        buffer_add_byte(out, '\t');
        tsv_put_cell(out, score->corrected, score->corrected_length);
        buffer_add_byte(out, '\n');
    }
}

/* ---- JSON lines ---- */

static void put_number(struct buffer *out, const char *name, double number) {
    buffer_printf(out, ",\"%s\":", name);
    json_put_number(out, number);
}

static void put_score(struct buffer *out, const struct bert_text *text,
                      const struct bert_score *score) {
    buffer_printf(out, "\"tokens\":%zu,\"unknown\":%zu", score->tokens, score->unknown);
    put_number(out, "log_likelihood", score->log_likelihood);
    put_number(out, "mean", score->mean);
    put_number(out, "pseudo_perplexity", score->pseudo_perplexity);
    buffer_add_text(out, ",\"text\":");
    json_put_text(out, text->bytes, text->length);
}

static void put_tokens(struct buffer *out, struct walk *walk,
                       const struct bert_model *model, const struct bert_score *score) {
    buffer_add_text(out, ",\"per_token\":[");
    for (size_t i = 0; i < score->token_count; i++) {
        const struct bert_token_score *token = &score->per_token[i];
        const char *entry = bert_token(model, token->id);
        buffer_printf(out, "%s{\"offset\":%zu,\"token\":", i ? "," : "",
                      place(walk, token->start));
        json_put_text(out, entry, strlen(entry));
        put_number(out, "log_probability", token->log_probability);
        buffer_add_byte(out, '}');
    }
    buffer_add_byte(out, ']');
}

static void put_suspects(struct buffer *out, struct walk *walk,
                         const struct bert_score *score) {
    buffer_add_text(out, ",\"suspects\":[");
    for (size_t i = 0; i < score->suspect_count; i++) {
        const struct bert_suspect *suspect = &score->suspects[i];
        buffer_printf(out, "%s{\"offset\":%zu,\"character\":", i ? "," : "",
                      place(walk, suspect->offset));
        json_put_text(out, walk->text->bytes + suspect->offset, suspect->length);
        put_number(out, "probability", suspect->probability);
        put_number(out, "gain", suspect->gain);
        buffer_add_text(out, ",\"better\":[");
        for (size_t j = 0; j < suspect->better_count; j++) {
            buffer_add_text(out, j ? ",{\"word\":" : "{\"word\":");
            json_put_text(out, suspect->better[j].word, strlen(suspect->better[j].word));
            put_number(out, "probability", suspect->better[j].probability);
            buffer_add_byte(out, '}');
        }
        buffer_add_text(out, "]}");
    }
    buffer_add_text(out, "],\"corrected\":");
    json_put_text(out, score->corrected, score->corrected_length);
}

/* ---- Pairs ---- */

static void put_pair(struct buffer *out, const struct score_look *look,
                     const struct bert_text *texts, const struct bert_score *scores) {
    /* Equal means go to the first. */
    int choice = scores[1].mean > scores[0].mean;
    if (look->shape == SCORE_TEXT) {
        stream_put_line(out, texts[choice].bytes, texts[choice].length);
        buffer_add_byte(out, '\n');
        return;
    }
    if (look->shape == SCORE_TSV) {
        tsv_put_cell(out, look->pair[choice], strlen(look->pair[choice]));
        buffer_printf(out, "\t%.6g\t%.6g\t", scores[0].mean, scores[1].mean);
        tsv_put_cell(out, texts[choice].bytes, texts[choice].length);
        buffer_add_byte(out, '\n');
        return;
    }
    buffer_add_text(out, "\"choice\":");
    json_put_text(out, look->pair[choice], strlen(look->pair[choice]));
    buffer_add_text(out, ",\"pair\":[");
    for (int i = 0; i < 2; i++) {
        buffer_add_text(out, i ? ",{\"column\":" : "{\"column\":");
        json_put_text(out, look->pair[i], strlen(look->pair[i]));
        buffer_add_byte(out, ',');
        put_score(out, &texts[i], &scores[i]);
        buffer_add_byte(out, '}');
    }
    buffer_add_text(out, "],\"text\":");
    json_put_text(out, texts[choice].bytes, texts[choice].length);
    buffer_add_text(out, "}\n");
}

void score_output_put(struct buffer *out, const struct score_look *look,
                      const struct bert_model *model, const struct bert_text *texts,
                      const struct bert_score *scores) {
    struct walk walk = {.text = texts, .bytes = look->byte_offsets};
    if (look->pair[0]) {
        put_pair(out, look, texts, scores);
    } else if (look->shape == SCORE_TEXT) {
        stream_put_line(out, scores->corrected, scores->corrected_length);
        buffer_add_byte(out, '\n');
    } else if (look->shape == SCORE_JSONL) {
        put_score(out, texts, scores);
        if (look->per_token)
            put_tokens(out, &walk, model, scores);
        if (look->suspects)
            put_suspects(out, &walk, scores);
        buffer_add_text(out, "}\n");
    } else if (look->suspects) {
        put_suspect_rows(out, &walk, scores);
    } else if (look->per_token) {
        put_token_rows(out, &walk, model, scores);
    } else {
        put_sums(out, texts, scores);
    }
}
