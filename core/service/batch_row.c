/* SPDX-License-Identifier: MIT
 *
 * batch_row.c: with several masks a CSV cell holds their values separated by blanks, as
 * in bert-batch, and a JSON member holds a list. */
#include "service/batch_row.h"

#include "io/csv.h"
#include "io/json.h"

static const struct {
    const char *name, *type, *head, *tail;
} formats[] = {
    [BATCH_JSON] = {"json", "application/json", "{\"rows\":[", "]}"},
    [BATCH_JSONL] = {"jsonl", "application/x-ndjson", "", ""},
    [BATCH_CSV] = {"csv", "text/csv; charset=utf-8", "id,text,top1,confidence,error\r\n",
                   ""},
};

bool batch_format_parse(struct span name, enum batch_format *format) {
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (span_equal(name, span_of(formats[i].name))) {
            *format = (enum batch_format)i;
            return true;
        }
    }
    return false;
}

const char *batch_format_type(enum batch_format format) {
    return formats[format].type;
}

void batch_put_head(struct buffer *out, enum batch_format format) {
    buffer_add_text(out, formats[format].head);
}

void batch_put_tail(struct buffer *out, enum batch_format format) {
    buffer_add_text(out, formats[format].tail);
}

static void put_csv_row(struct buffer *out, const struct batch_row *row) {
    const struct outcome *outcome = row->outcome;
    struct buffer words = {0};
    csv_put_cell(out, row->id.data, row->id.size, ',');
    buffer_add_byte(out, ',');
    csv_put_cell(out, row->text.data, row->text.size, ',');
    buffer_add_byte(out, ',');
    for (size_t m = 0; outcome && m < outcome->mask_count; m++) {
        buffer_add_text(&words, m ? " " : "");
        if (outcome->masks[m].count)
            buffer_add_text(&words, outcome->masks[m].candidates[0].word);
    }
    csv_put_cell(out, words.data, words.size, ',');
    buffer_release(&words);
    buffer_add_byte(out, ',');
    for (size_t m = 0; outcome && m < outcome->mask_count; m++) {
        buffer_add_text(out, m ? " " : "");
        if (outcome->masks[m].count)
            buffer_printf(out, "%.6g",
                          outcome_confidence(outcome, &outcome->masks[m].candidates[0]));
    }
    buffer_add_byte(out, ',');
    if (!outcome)
        csv_put_cell(out, row->error, strlen(row->error), ',');
    buffer_add_text(out, "\r\n");
}

static void put_best(struct buffer *out, const struct outcome *outcome, bool words) {
    if (outcome->mask_count > 1)
        buffer_add_byte(out, '[');
    for (size_t m = 0; m < outcome->mask_count; m++) {
        const struct outcome_mask *mask = &outcome->masks[m];
        buffer_add_text(out, m ? "," : "");
        if (mask->count == 0)
            buffer_add_text(out, "null");
        else if (words)
            json_put_text(out, mask->candidates[0].word,
                          strlen(mask->candidates[0].word));
        else
            json_put_number(out, outcome_confidence(outcome, &mask->candidates[0]));
    }
    if (outcome->mask_count > 1)
        buffer_add_byte(out, ']');
}

static void put_json_row(struct buffer *out, const struct batch_row *row) {
    buffer_add_text(out, "{\"id\":");
    if (row->id_is_number)
        buffer_add(out, row->id.data, row->id.size);
    else
        json_put_text(out, row->id.data, row->id.size);
    buffer_add_text(out, ",\"text\":");
    json_put_text(out, row->text.data, row->text.size);
    if (row->outcome) {
        buffer_add_text(out, ",\"top1\":");
        put_best(out, row->outcome, true);
        buffer_add_text(out, ",\"confidence\":");
        put_best(out, row->outcome, false);
        buffer_add_text(out, ",\"error\":null}");
    } else {
        buffer_add_text(out, ",\"top1\":null,\"confidence\":null,\"error\":");
        json_put_text(out, row->error, strlen(row->error));
        buffer_add_byte(out, '}');
    }
}

void batch_put_row(struct buffer *out, enum batch_format format,
                   const struct batch_row *row, bool first) {
    if (format == BATCH_CSV) {
        put_csv_row(out, row);
        return;
    }
    if (format == BATCH_JSON && !first)
        buffer_add_byte(out, ',');
    put_json_row(out, row);
    if (format == BATCH_JSONL)
        buffer_add_byte(out, '\n');
}
