/* SPDX-License-Identifier: MIT
 *
 * fill_output.c: rows, objects, sentences, Hugging Face's objects and the terminal view.
 */
#include "fill_output.h"

#include "stream.h"

#include "base/utf8.h"
#include "io/json.h"
#include "io/tsv.h"
#include "service/terminal.h"

#include <string.h>

/* ---- TSV ---- */

const char *fill_output_header(const struct fill_look *look) {
    if (look->shape != SHAPE_TSV)
        return NULL;
    if (look->whole)
        return "record\trank\twords\tprobability\tmean_log_probability\ttext";
    if (look->words)
        return "record\tmask\trank\tword\tprobability\tshare\tlabel\ttext";
    return "record\tmask\trank\tword\tprobability\ttext";
}

static void put_rows(struct buffer *out, const struct fill_look *look,
                     const struct bert_result *result) {
    for (size_t m = 0; m < result->mask_count; m++)
        for (size_t i = 0; i < result->masks[m].candidate_count; i++) {
            const struct bert_candidate *c = &result->masks[m].candidates[i];
            buffer_printf(out, "%zu\t%zu\t", m + 1, i + 1);
            tsv_put_cell(out, c->word, strlen(c->word));
            buffer_printf(out, "\t%.6g\t", c->probability);
            if (look->words) {
                buffer_printf(out, "%.6g\t", c->share);
                if (c->label)
                    tsv_put_cell(out, c->label, strlen(c->label));
                buffer_add_byte(out, '\t');
            }
            tsv_put_cell(out, c->text, c->text_length);
            buffer_add_byte(out, '\n');
        }
}

static void put_filling_rows(struct buffer *out, const struct bert_result *result) {
    for (size_t i = 0; i < result->filling_count; i++) {
        const struct bert_filling *filling = &result->fillings[i];
        buffer_printf(out, "%zu\t", i + 1);
        for (size_t m = 0; m < filling->word_count; m++) {
            if (m > 0)
                buffer_add_byte(out, ' ');
            tsv_put_cell(out, filling->words[m], strlen(filling->words[m]));
        }
        buffer_printf(out, "\t%.6g\t%.6g\t", filling->probability,
                      filling->mean_log_probability);
        tsv_put_cell(out, filling->text, filling->text_length);
        buffer_add_byte(out, '\n');
    }
}

/* ---- JSON lines ---- */

static void put_ids(struct buffer *out, const int32_t *ids, int count) {
    for (int i = 0; i < count; i++)
        buffer_printf(out, "%s%d", i ? "," : "[", ids[i]);
    buffer_add_text(out, count ? "]" : "[]");
}

static void put_member(struct buffer *out, const char *name, const char *text) {
    buffer_printf(out, "\"%s\":", name);
    if (text)
        json_put_text(out, text, strlen(text));
    else
        buffer_add_text(out, "null");
}

static void put_candidate(struct buffer *out, const struct fill_look *look,
                          const struct bert_candidate *candidate) {
    buffer_add_byte(out, '{');
    put_member(out, "word", candidate->word);
    if (look->words) {
        buffer_add_text(out, ",\"ids\":");
        put_ids(out, candidate->ids, candidate->id_count);
    } else {
        buffer_printf(out, ",\"id\":%d", candidate->ids[0]);
    }
    buffer_add_text(out, ",\"probability\":");
    json_put_number(out, candidate->probability);
    if (look->words) {
        buffer_add_text(out, ",\"share\":");
        json_put_number(out, candidate->share);
        buffer_add_byte(out, ',');
        put_member(out, "label", candidate->label);
    }
    buffer_add_text(out, ",\"text\":");
    json_put_text(out, candidate->text, candidate->text_length);
    buffer_add_byte(out, '}');
}

static void put_labels(struct buffer *out, const struct bert_mask *mask) {
    buffer_add_text(out, ",\"labels\":[");
    for (size_t i = 0; i < mask->label_count; i++) {
        buffer_add_text(out, i ? ",{" : "{");
        put_member(out, "label", mask->labels[i].label);
        buffer_add_text(out, ",\"share\":");
        json_put_number(out, mask->labels[i].share);
        buffer_add_byte(out, '}');
    }
    buffer_add_byte(out, ']');
}

static void put_masks(struct buffer *out, const struct fill_look *look,
                      const struct bert_text *text, const struct bert_result *result) {
    size_t at = 0, characters = 0; /* masks rise, so one walk counts for all */
    buffer_add_text(out, ",\"masks\":[");
    for (size_t m = 0; m < result->mask_count; m++) {
        const struct bert_mask *mask = &result->masks[m];
        size_t offset = mask->offset, length = mask->length;
        if (!look->byte_offsets) {
            characters += utf8_count(text->bytes + at, mask->offset - at);
            at = mask->offset;
            offset = characters;
            length = utf8_count(text->bytes + at, mask->length);
        }
        buffer_printf(out, "%s{\"offset\":%zu,\"length\":%zu,\"candidates\":[",
                      m ? "," : "", offset, length);
        for (size_t i = 0; i < mask->candidate_count; i++) {
            if (i > 0)
                buffer_add_byte(out, ',');
            put_candidate(out, look, &mask->candidates[i]);
        }
        buffer_add_byte(out, ']');
        if (look->words)
            put_labels(out, mask);
        buffer_add_byte(out, '}');
    }
    buffer_add_byte(out, ']');
}

static void put_filling(struct buffer *out, const struct bert_filling *filling) {
    buffer_add_text(out, "{\"words\":[");
    for (size_t m = 0; m < filling->word_count; m++) {
        if (m > 0)
            buffer_add_byte(out, ',');
        json_put_text(out, filling->words[m], strlen(filling->words[m]));
    }
    buffer_add_text(out, "],\"ids\":[");
    for (size_t m = 0; m < filling->word_count; m++) {
        if (m > 0)
            buffer_add_byte(out, ',');
        put_ids(out, filling->ids[m], filling->id_counts[m]);
    }
    buffer_add_text(out, "],\"probability\":");
    json_put_number(out, filling->probability);
    buffer_add_text(out, ",\"mean_log_probability\":");
    json_put_number(out, filling->mean_log_probability);
    buffer_add_text(out, ",\"text\":");
    json_put_text(out, filling->text, filling->text_length);
    buffer_add_byte(out, '}');
}

static void put_object(struct buffer *out, const struct fill_look *look,
                       const struct bert_text *text, const struct bert_result *result) {
    buffer_add_text(out, "\"text\":");
    json_put_text(out, text->bytes, text->length);
    if (!look->whole) {
        put_masks(out, look, text, result);
    } else {
        buffer_printf(out, ",\"exact\":%s,\"fillings\":[",
                      result->exact ? "true" : "false");
        for (size_t i = 0; i < result->filling_count; i++) {
            if (i > 0)
                buffer_add_byte(out, ',');
            put_filling(out, &result->fillings[i]);
        }
        buffer_add_byte(out, ']');
    }
    buffer_add_text(out, "}\n");
}

/* ---- The sentence ---- */

/* What a candidate puts in the place of its mask: its text without the rest of the text.
 */
static struct span put_in(const struct bert_text *text, const struct bert_mask *mask,
                          const struct bert_candidate *candidate) {
    return (struct span){candidate->text + mask->offset,
                         candidate->text_length - (text->length - mask->length)};
}

static void put_sentence(struct buffer *out, const struct bert_text *text,
                         const struct bert_result *result) {
    size_t at = 0;
    if (result->filling_count > 0) {
        stream_put_line(out, result->fillings[0].text, result->fillings[0].text_length);
        at = text->length;
    }
    for (size_t m = 0; m < result->mask_count; m++) {
        const struct bert_mask *mask = &result->masks[m];
        stream_put_line(out, text->bytes + at, mask->offset - at);
        struct span word = {text->bytes + mask->offset, mask->length};
        if (mask->candidate_count > 0)
            word = put_in(text, mask, &mask->candidates[0]);
        buffer_add(out, word.data, word.size);
        at = mask->offset + mask->length;
    }
    stream_put_line(out, text->bytes + at, text->length - at);
    buffer_add_byte(out, '\n');
}

/* ---- Hugging Face ---- */

/* The pipeline drops padding and decodes the rest, special tokens shown when there are
 * several masks. */
static enum bert_status put_hf_object(struct buffer *out, struct bert_session *session,
                                      const struct bert_result *result,
                                      const struct bert_mask *mask,
                                      const struct bert_candidate *candidate,
                                      int32_t *ids, struct bert_error *error) {
    size_t count = 0;
    const char *text;
    for (size_t i = 0; i < result->id_count; i++)
        if (i == mask->position)
            for (int j = 0; j < candidate->id_count; j++)
                ids[count++] = candidate->ids[j];
        else
            ids[count++] = result->ids[i];
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (ids[i] != result->pad_id)
            ids[kept++] = ids[i];
    buffer_add_text(out, "{\"score\":");
    json_put_digits(out, candidate->probability, 9);
    buffer_add_text(out, ",\"token\":");
    if (candidate->id_count == 1)
        buffer_printf(out, "%d", candidate->ids[0]);
    else
        put_ids(out, candidate->ids, candidate->id_count);
    enum bert_status status = bert_decode(
        session, candidate->ids, (size_t)candidate->id_count, false, &text, error);
    if (status != BERT_OK)
        return status;
    buffer_add_byte(out, ',');
    put_member(out, "token_str", text);
    status = bert_decode(session, ids, kept, result->mask_count == 1, &text, error);
    if (status != BERT_OK)
        return status;
    buffer_add_byte(out, ',');
    put_member(out, "sequence", text);
    buffer_add_byte(out, '}');
    return BERT_OK;
}

static enum bert_status put_hf(struct buffer *out, struct bert_session *session,
                               const struct bert_result *result,
                               struct bert_error *error) {
    size_t longest = 1;
    for (size_t m = 0; m < result->mask_count; m++)
        for (size_t i = 0; i < result->masks[m].candidate_count; i++)
            if ((size_t)result->masks[m].candidates[i].id_count > longest)
                longest = (size_t)result->masks[m].candidates[i].id_count;
    int32_t *ids = calloc(result->id_count + longest, sizeof *ids);
    if (!ids)
        return error_memory(error);
    bool many = result->mask_count > 1;
    enum bert_status status = BERT_OK;
    buffer_add_text(out, many ? "[" : "");
    for (size_t m = 0; m < result->mask_count && status == BERT_OK; m++) {
        const struct bert_mask *mask = &result->masks[m];
        buffer_add_text(out, m ? ",[" : "[");
        for (size_t i = 0; i < mask->candidate_count && status == BERT_OK; i++) {
            if (i > 0)
                buffer_add_byte(out, ',');
            status = put_hf_object(out, session, result, mask, &mask->candidates[i], ids,
                                   error);
        }
        buffer_add_byte(out, ']');
    }
    buffer_add_text(out, many ? "]\n" : "\n");
    free(ids);
    return status;
}

/* ---- The terminal ---- */

enum { AROUND = 24, BAR = 20 }; /* columns of text beside a word; of the bar */

static void put_color(struct buffer *out, const struct fill_look *look,
                      const char *code) {
    if (look->color)
        buffer_printf(out, "\033[%sm", code);
}

/* The word in its surroundings, which are cut where they are long. */
static void put_excerpt(struct buffer *out, const struct fill_look *look,
                        const struct bert_text *text, const struct bert_mask *mask,
                        const struct bert_candidate *candidate) {
    struct span before = {text->bytes, mask->offset};
    struct span after = {text->bytes + mask->offset + mask->length,
                         text->length - mask->offset - mask->length};
    struct span left = terminal_end(before, AROUND),
                right = terminal_start(after, AROUND);
    buffer_add_text(out, left.size < before.size ? "…" : "");
    terminal_put(out, left, 0);
    put_color(out, look, "1;32");
    terminal_put(out, put_in(text, mask, candidate), 0);
    put_color(out, look, "0");
    terminal_put(out, right, 0);
    buffer_add_text(out, right.size < after.size ? "…\n" : "\n");
}

static void put_bar(struct buffer *out, const struct fill_look *look, double fraction) {
    buffer_add_text(out, "  ");
    put_color(out, look, "36");
    terminal_bar(out, fraction, BAR);
    put_color(out, look, "0");
    buffer_add_text(out, "  ");
}

/* Columns of the widest word; labels stand two further to the right. */
static size_t word_columns(const struct bert_mask *mask) {
    size_t width = 4;
    for (size_t i = 0; i < mask->candidate_count; i++) {
        size_t own = terminal_width(span_of(mask->candidates[i].word));
        width = own > width ? own : width;
    }
    for (size_t i = 0; i < mask->label_count; i++) {
        size_t own = terminal_width(span_of(mask->labels[i].label)) + 2;
        width = own > width ? own : width;
    }
    return width;
}

static void put_table(struct buffer *out, const struct fill_look *look,
                      const struct bert_text *text, const struct bert_result *result) {
    for (size_t m = 0; m < result->mask_count; m++) {
        const struct bert_mask *mask = &result->masks[m];
        size_t width = word_columns(mask);
        if (result->mask_count > 1)
            buffer_printf(out, "[MASK] %zu\n", m + 1);
        for (size_t i = 0; i < mask->candidate_count; i++) {
            const struct bert_candidate *candidate = &mask->candidates[i];
            double shown = look->words ? candidate->share : candidate->probability;
            buffer_add_text(out, "  ");
            terminal_put(out, span_of(candidate->word), width + 2);
            buffer_printf(out, "%8.6f", shown);
            put_bar(out, look, shown);
            put_excerpt(out, look, text, mask, candidate);
        }
        for (size_t i = 0; i < mask->label_count; i++) {
            buffer_add_text(out, "  = ");
            terminal_put(out, span_of(mask->labels[i].label), width);
            buffer_printf(out, "%8.6f\n", mask->labels[i].share);
        }
    }
}

static void put_filling_table(struct buffer *out, const struct fill_look *look,
                              const struct bert_result *result) {
    for (size_t i = 0; i < result->filling_count; i++) {
        const struct bert_filling *filling = &result->fillings[i];
        buffer_printf(out, "  %8.6f", filling->probability);
        put_bar(out, look, filling->probability);
        put_color(out, look, "1;32");
        for (size_t m = 0; m < filling->word_count; m++) {
            terminal_put(out, span_of(filling->words[m]), 0);
            buffer_add_byte(out, ' ');
        }
        put_color(out, look, "0");
        buffer_add_byte(out, ' ');
        terminal_put(out, (struct span){filling->text, filling->text_length}, 0);
        buffer_add_byte(out, '\n');
    }
}

enum bert_status fill_output_put(struct buffer *out, const struct fill_look *look,
                                 struct bert_session *session,
                                 const struct bert_text *text,
                                 const struct bert_result *result,
                                 struct bert_error *error) {
    enum bert_status status = BERT_OK;
    if (look->shape == SHAPE_TSV && look->whole)
        put_filling_rows(out, result);
    else if (look->shape == SHAPE_TSV)
        put_rows(out, look, result);
    else if (look->shape == SHAPE_JSONL)
        put_object(out, look, text, result);
    else if (look->shape == SHAPE_TEXT)
        put_sentence(out, text, result);
    else if (look->shape == SHAPE_HF)
        status = put_hf(out, session, result, error);
    else if (look->whole)
        put_filling_table(out, look, result);
    else
        put_table(out, look, text, result);
    return status == BERT_OK && out->failed ? error_memory(error) : status;
}
