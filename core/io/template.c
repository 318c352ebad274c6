/* SPDX-License-Identifier: MIT
 *
 * template.c: the pieces between braces. */
#include "io/template.h"

static bool add_piece(struct template *template, struct span text, bool is_column) {
    if (text.size == 0 && !is_column)
        return true;
    size_t size = (template->count + 1) * sizeof *template->pieces;
    struct template_piece *pieces = realloc(template->pieces, size);
    if (!pieces)
        return false;
    template->pieces = pieces;
    pieces[template->count++] = (struct template_piece){text, is_column, 0};
    return true;
}

/* Reads one piece at *at: text up to a column, or a column. */
static enum bert_status read_piece(struct template *template, const char *text,
                                   size_t *at, struct bert_error *error) {
    struct buffer *plain = &template->plain;
    size_t begin = plain->size, i = *at;
    bool is_column = text[i] == '{' && text[i + 1] != '{';
    if (is_column) {
        size_t size = strcspn(text + i + 1, "{}");
        if (text[i + 1 + size] != '}')
            return error_set(error, BERT_USAGE,
                             "'{' at byte %zu is not closed; {{ is a brace", i + 1);
        buffer_add(plain, text + i + 1, size);
        i += size + 2;
    }
    while (!is_column && text[i] && !(text[i] == '{' && text[i + 1] != '{')) {
        if (text[i] == '}' && text[i + 1] != '}')
            return error_set(error, BERT_USAGE,
                             "'}' at byte %zu closes nothing; }} is a brace", i + 1);
        buffer_add_byte(plain, text[i]);
        i += text[i] == '{' || text[i] == '}' ? 2 : 1;
    }
    *at = i;
    /* plain was given all its room before the first piece: it does not move */
    struct span piece = {plain->data + begin, plain->size - begin};
    return add_piece(template, piece, is_column) ? BERT_OK : error_memory(error);
}

enum bert_status template_parse(struct template *template, const char *text,
                                struct bert_error *error) {
    *template = (struct template){0};
    enum bert_status status = BERT_OK;
    if (!buffer_reserve(&template->plain, strlen(text) + 1))
        status = error_memory(error);
    for (size_t at = 0; !status && text[at];)
        status = read_piece(template, text, &at, error);
    if (status)
        template_release(template);
    return status;
}

void template_release(struct template *template) {
    free(template->pieces);
    buffer_release(&template->plain);
    *template = (struct template){0};
}

enum bert_status template_resolve(struct template *template, struct records *records,
                                  struct bert_error *error) {
    enum bert_status status = BERT_OK;
    for (size_t i = 0; i < template->count && !status; i++)
        if (template->pieces[i].is_column)
            status = records_column(records, template->pieces[i].text,
                                    &template->pieces[i].cell, error);
    return status;
}

void template_put(const struct template *template, const struct record *record,
                  struct buffer *out) {
    for (size_t i = 0; i < template->count; i++) {
        const struct template_piece *piece = &template->pieces[i];
        struct span text = piece->text;
        if (piece->is_column)
            text = record && piece->cell < record->count
                       ? record->cells[piece->cell].value
                       : (struct span){"", 0};
        buffer_add(out, text.data, text.size);
    }
}
