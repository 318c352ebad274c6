/* SPDX-License-Identifier: MIT
 *
 * sheet_answer.c: cells and members of a result. */
#include "service/sheet_answer.h"

#include "io/csv.h"
#include "io/json.h"
#include "io/tsv.h"

void sheet_put_cell(struct buffer *out, const struct sheet_look *look,
                    struct span value) {
    struct buffer guarded = {0};
    if (look->guard && csv_is_formula(value.data, value.size)) {
        buffer_add_byte(&guarded, '\'');
        buffer_add(&guarded, value.data, value.size);
        out->failed |= guarded.failed;
        value = (struct span){guarded.data, guarded.size};
    }
    if (look->to == FORMAT_TSV)
        tsv_put_cell(out, value.data, value.size);
    else
        csv_put_cell(out, value.data, value.size, look->delimiter);
    buffer_release(&guarded);
}

static void put_separator(struct buffer *out, const struct sheet_look *look) {
    buffer_add_byte(out, look->to == FORMAT_TSV ? '\t' : look->delimiter);
}

static void add_cell(struct buffer *out, const struct sheet_look *look,
                     const struct buffer *value) {
    out->failed |= value->failed;
    put_separator(out, look);
    sheet_put_cell(out, look, (struct span){value->data, value->size});
}

static double confidence(const struct sheet_look *look,
                         const struct bert_candidate *candidate) {
    return look->words ? candidate->share : candidate->probability;
}

/* ---- The filled text ------------------------------------------------------------- */

/* A candidate's text holds its word in the place of its mask: the user's form of it. */
static struct span word_in_place(const struct bert_text *text,
                                 const struct bert_mask *mask,
                                 const struct bert_candidate *candidate) {
    return (struct span){candidate->text + mask->offset,
                         candidate->text_length - (text->length - mask->length)};
}

static void put_filled(struct buffer *out, const struct bert_text *text,
                       const struct bert_result *result) {
    if (result->filling_count > 0) {
        buffer_add(out, result->fillings[0].text, result->fillings[0].text_length);
        return;
    }
    size_t at = 0;
    for (size_t m = 0; m < result->mask_count; m++) {
        const struct bert_mask *mask = &result->masks[m];
        struct span word = {text->bytes + mask->offset, mask->length};
        if (mask->candidate_count > 0)
            word = word_in_place(text, mask, &mask->candidates[0]);
        buffer_add(out, text->bytes + at, mask->offset - at);
        buffer_add(out, word.data, word.size);
        at = mask->offset + mask->length;
    }
    buffer_add(out, text->bytes + at, text->length - at);
}

/* ---- Tables ---------------------------------------------------------------------- */

static void put_words(struct buffer *out, const struct sheet_look *look,
                      const struct bert_result *result, size_t i) {
    const struct bert_filling *filling =
        i < result->filling_count ? &result->fillings[i] : NULL;
    for (size_t m = 0; look->whole && filling && m < filling->word_count; m++) {
        buffer_add_text(out, m ? " " : "");
        buffer_add_text(out, filling->words[m]);
    }
    for (size_t m = 0; !look->whole && m < result->mask_count; m++) {
        buffer_add_text(out, m ? " " : "");
        if (i < result->masks[m].candidate_count)
            buffer_add_text(out, result->masks[m].candidates[i].word);
    }
}

static void put_confidences(struct buffer *out, const struct sheet_look *look,
                            const struct bert_result *result, size_t i) {
    if (look->whole && i < result->filling_count)
        buffer_printf(out, "%.6g", result->fillings[i].probability);
    for (size_t m = 0; !look->whole && m < result->mask_count; m++) {
        buffer_add_text(out, m ? " " : "");
        if (i < result->masks[m].candidate_count)
            buffer_printf(out, "%.6g", confidence(look, &result->masks[m].candidates[i]));
    }
}

static const char *best_label(const struct bert_mask *mask) {
    const char *label = mask->label_count ? mask->labels[0].label : NULL;
    return label ? label : "";
}

static void put_labels(struct buffer *out, const struct bert_result *result) {
    for (size_t m = 0; m < result->mask_count; m++) {
        buffer_add_text(out, m ? " " : "");
        buffer_add_text(out, best_label(&result->masks[m]));
    }
}

static void put_table(struct buffer *out, const struct sheet_look *look,
                      const struct bert_text *text, const struct bert_result *result) {
    struct buffer value = {0};
    for (int i = 0; i < 2 * look->k; i++) {
        value.size = 0;
        if (i < look->k)
            put_words(&value, look, result, (size_t)i);
        else
            put_confidences(&value, look, result, (size_t)(i - look->k));
        add_cell(out, look, &value);
    }
    if (look->labelled) {
        value.size = 0;
        put_labels(&value, result);
        add_cell(out, look, &value);
    }
    value.size = 0;
    put_filled(&value, text, result);
    add_cell(out, look, &value);
    put_separator(out, look); /* error */
    buffer_release(&value);
}

/* ---- Objects --------------------------------------------------------------------- */

static void put_string(struct buffer *out, const char *text) {
    json_put_text(out, text, strlen(text));
}

static void put_words_list(struct buffer *out, const struct bert_filling *filling) {
    buffer_add_byte(out, '[');
    for (size_t m = 0; m < filling->word_count; m++) {
        buffer_add_text(out, m ? "," : "");
        put_string(out, filling->words[m]);
    }
    buffer_add_byte(out, ']');
}

static void put_candidates(struct buffer *out, const struct sheet_look *look,
                           const struct bert_mask *mask) {
    buffer_add_byte(out, '[');
    for (size_t i = 0; i < mask->candidate_count; i++) {
        const struct bert_candidate *candidate = &mask->candidates[i];
        buffer_add_text(out, i ? ",{\"word\":" : "{\"word\":");
        put_string(out, candidate->word);
        buffer_add_text(out, ",\"probability\":");
        json_put_number(out, candidate->probability);
        if (look->words) {
            buffer_add_text(out, ",\"share\":");
            json_put_number(out, candidate->share);
        }
        if (candidate->label) {
            buffer_add_text(out, ",\"label\":");
            put_string(out, candidate->label);
        }
        buffer_add_byte(out, '}');
    }
    buffer_add_byte(out, ']');
}

static void put_fillings(struct buffer *out, const struct bert_result *result) {
    buffer_add_byte(out, '[');
    for (size_t i = 0; i < result->filling_count; i++) {
        const struct bert_filling *filling = &result->fillings[i];
        buffer_add_text(out, i ? ",{\"words\":" : "{\"words\":");
        put_words_list(out, filling);
        buffer_add_text(out, ",\"probability\":");
        json_put_number(out, filling->probability);
        buffer_add_text(out, ",\"mean_log_probability\":");
        json_put_number(out, filling->mean_log_probability);
        buffer_add_text(out, ",\"text\":");
        json_put_text(out, filling->text, filling->text_length);
        buffer_add_byte(out, '}');
    }
    buffer_add_byte(out, ']');
}

enum member { PREDICTION, CONFIDENCE, LABEL, CANDIDATES };

static void put_member(struct buffer *out, const struct sheet_look *look,
                       const struct bert_mask *mask, enum member member) {
    const struct bert_candidate *best = mask->candidate_count ? mask->candidates : NULL;
    if (member == CANDIDATES)
        put_candidates(out, look, mask);
    else if (member == LABEL)
        put_string(out, best_label(mask));
    else if (!best)
        buffer_add_text(out, "null");
    else if (member == PREDICTION)
        put_string(out, best->word);
    else
        json_put_number(out, confidence(look, best));
}

/* One mask: its value; several: the list of their values. */
static void put_members(struct buffer *out, const struct sheet_look *look,
                        const struct bert_result *result, const char *name,
                        enum member member) {
    bool list = result->mask_count > 1;
    buffer_printf(out, "%s\"%s\":%s", member == PREDICTION ? "{" : ",", name,
                  list ? "[" : "");
    for (size_t m = 0; m < result->mask_count; m++) {
        buffer_add_text(out, m ? "," : "");
        put_member(out, look, &result->masks[m], member);
    }
    buffer_add_text(out, list ? "]" : "");
}

static void put_object(struct buffer *out, const struct sheet_look *look,
                       const struct bert_text *text, const struct bert_result *result) {
    if (look->whole) {
        buffer_add_text(out, "{\"prediction\":");
        if (result->filling_count > 0)
            put_words_list(out, &result->fillings[0]);
        else
            buffer_add_text(out, "null");
        buffer_add_text(out, ",\"confidence\":");
        if (result->filling_count > 0)
            json_put_number(out, result->fillings[0].probability);
        else
            buffer_add_text(out, "null");
    } else {
        put_members(out, look, result, "prediction", PREDICTION);
        put_members(out, look, result, "confidence", CONFIDENCE);
        if (look->labelled)
            put_members(out, look, result, "label", LABEL);
    }
    struct buffer filled = {0};
    put_filled(&filled, text, result);
    buffer_add_text(out, ",\"filled\":");
    json_put_text(out, filled.data, filled.size);
    out->failed |= filled.failed;
    buffer_release(&filled);
    if (look->whole) {
        buffer_add_text(out, ",\"candidates\":");
        put_fillings(out, result);
    } else {
        put_members(out, look, result, "candidates", CANDIDATES);
    }
    buffer_add_byte(out, '}');
}

/* ---- All ------------------------------------------------------------------------- */

void sheet_put_answer(struct buffer *out, const struct sheet_look *look,
                      const struct bert_text *text, const struct bert_result *result) {
    size_t begin = out->size;
    switch (look->to) {
    case FORMAT_CSV:
    case FORMAT_TSV:
        put_table(out, look, text, result);
        break;
    case FORMAT_JSONL:
        put_object(out, look, text, result);
        break;
    case FORMAT_TEXT:
    case FORMAT_UNSET:
        put_filled(out, text, result);
        for (size_t i = begin; !out->failed && i < out->size; i++)
            if (out->data[i] == '\n' || out->data[i] == '\r')
                out->data[i] = ' ';
    }
}

void sheet_put_error(struct buffer *out, const struct sheet_look *look, const char *why) {
    if (look->to == FORMAT_JSONL) {
        buffer_add_text(out, "{\"error\":");
        put_string(out, why);
        buffer_add_byte(out, '}');
    } else if (look->to != FORMAT_TEXT) {
        for (int i = 0; i < 2 * look->k + look->labelled + 2; i++)
            put_separator(out, look);
        sheet_put_cell(out, look, span_of(why));
    }
}
