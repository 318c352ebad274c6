/* SPDX-License-Identifier: MIT
 *
 * passage.c: from a text to the sequences that the model reads. */
#include "mlm/passage.h"

#include "base/utf8.h"

#include <stdarg.h>

void passage_fail(struct passage *passage, struct mlm *mlm, const char *format, ...) {
    if (passage->error)
        return;
    char line[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    const char *copy = arena_text(&mlm->results, line, strlen(line));
    passage->error = copy ? copy : "out of memory";
}

/* Status of the whole call: a text's own defect goes into the passage alone. */
static enum bert_status settle(struct passage *passage, struct mlm *mlm,
                               enum bert_status status, const struct bert_error *own,
                               struct bert_error *error) {
    if (status == BERT_RECORD) {
        passage_fail(passage, mlm, "%s", own->message);
        return BERT_OK;
    }
    if (status != BERT_OK && error)
        *error = *own;
    return status;
}

static enum bert_status frame_tokens(struct passage *passage, struct mlm *mlm,
                                     struct bert_error *error) {
    const struct token_list *tokens = &passage->tokens;
    const struct special_ids *special = tokenizer_special(mlm->tokenizer);
    int32_t *ids = arena_array(&mlm->results, tokens->count + 2, sizeof *ids);
    if (!ids)
        return error_memory(error);
    ids[0] = special->cls;
    if (tokens->count)
        memcpy(ids + 1, tokens->ids, tokens->count * sizeof *ids);
    ids[tokens->count + 1] = special->sep;
    passage->ids = ids;
    return mask_find(mlm->tokenizer, tokens, &mlm->results, &passage->masks, error);
}

enum bert_status passage_read(struct passage *passage, struct mlm *mlm,
                              const struct bert_text *text,
                              const struct tokenize_options *options,
                              struct bert_error *error) {
    *passage = (struct passage){.text = {text->bytes, text->length}};
    size_t valid = utf8_valid_prefix(text->bytes, text->length);
    if (valid < text->length)
        passage_fail(passage, mlm, "invalid UTF-8 at byte %zu", valid + 1);
    else if (text->context && utf8_valid_prefix(text->context, text->context_length) <
                                  text->context_length)
        passage_fail(passage, mlm, "invalid UTF-8 in the context");
    if (passage->error)
        return BERT_OK;
    struct bert_error own = {0};
    enum bert_status status =
        tokenizer_run(mlm->tokenizer, text->bytes, text->length, options, &mlm->results,
                      &passage->tokens, &own);
    struct token_list context = {0};
    if (status == BERT_OK && text->context)
        status = tokenizer_run(mlm->tokenizer, text->context, text->context_length, NULL,
                               &mlm->results, &context, &own);
    if (status != BERT_OK)
        return settle(passage, mlm, status, &own, error);
    passage->context = context.ids;
    passage->context_count = context.count;
    return frame_tokens(passage, mlm, error);
}

bool frame_alloc(struct frame *frame, const struct mlm *mlm, struct arena *arena) {
    *frame = (struct frame){.ids = arena_array(arena, mlm->positions, sizeof *frame->ids),
                            .slots = arena_array(arena, mlm->positions, sizeof(size_t))};
    return frame->ids && frame->slots;
}

/* Copies tokens [begin, end), each listed slot in its width. */
static void frame_copy(struct frame *frame, const struct passage *passage, int32_t mask,
                       size_t begin, size_t end, const struct mask_place *slots,
                       size_t slot_count, const int *widths) {
    size_t next = 0;
    for (size_t i = begin; i < end; i++) {
        if (next == slot_count || slots[next].token != i) {
            frame->ids[frame->count++] = passage->tokens.ids[i];
            continue;
        }
        for (int w = widths ? widths[next] : 1; w > 0; w--) {
            frame->slots[frame->slot_count++] = frame->count;
            frame->ids[frame->count++] = mask;
        }
        next++;
    }
}

bool frame_around(struct frame *frame, const struct mlm *mlm,
                  const struct passage *passage, const struct mask_place *slots,
                  size_t slot_count, const int *widths) {
    const struct special_ids *special = tokenizer_special(mlm->tokenizer);
    size_t room = mlm->positions > 2 ? mlm->positions - 2 : 0;
    size_t extra = 0, tokens = passage->tokens.count;
    size_t first = slots[0].token, last = slots[slot_count - 1].token;
    for (size_t i = 0; widths && i < slot_count; i++)
        extra += (size_t)widths[i] - 1;
    size_t extent = last - first + 1 + extra;
    if (extent > room)
        return false;
    size_t begin = 0, end = tokens;
    frame->context = 0;
    frame->cut = tokens + extra > room;
    if (frame->cut) {
        size_t spare = room - extent, right = tokens - last - 1;
        size_t before = spare / 2;
        if (first < before)
            before = first;
        else if (right < spare - before)
            before = spare - right;
        begin = first - before;
        end = last + 1 + (spare - before);
    } else {
        frame->context = room - tokens - extra;
        if (frame->context > passage->context_count)
            frame->context = passage->context_count;
    }
    frame->count = frame->slot_count = 0;
    frame->ids[frame->count++] = special->cls;
    for (size_t i = passage->context_count - frame->context; i < passage->context_count;
         i++)
        frame->ids[frame->count++] = passage->context[i];
    frame_copy(frame, passage, special->mask, begin, end, slots, slot_count, widths);
    frame->ids[frame->count++] = special->sep;
    return true;
}
