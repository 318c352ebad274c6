/* SPDX-License-Identifier: MIT
 *
 * answer.c: questions to and answers from the masks of a passage. */
#include "mlm/answer.h"

#include "mlm/splice.h"

#include <math.h>

void answer_note_cut(struct passage *passage, struct mlm *mlm,
                     const struct frame *frame) {
    char line[160];
    if (passage->note)
        return;
    if (frame->cut)
        snprintf(line, sizeof line,
                 "text of %zu tokens: the model reads %zu around each mask",
                 passage->tokens.count, mlm->positions - 2);
    else if (frame->context < passage->context_count)
        snprintf(line, sizeof line,
                 "context of %zu tokens: the model reads the last %zu of them",
                 passage->context_count, frame->context);
    else
        return;
    passage->note = arena_text(&mlm->results, line, strlen(line));
}

static enum bert_status ask_frame(struct mlm *mlm, struct passage *passage,
                                  const struct frame *frame, struct ask *asks,
                                  struct bert_error *error) {
    for (size_t i = 0; i < frame->slot_count; i++)
        asks[i].row = frame->slots[i];
    answer_note_cut(passage, mlm, frame);
    return packer_add(&mlm->packer, frame->ids, frame->count, asks, frame->slot_count,
                      error);
}

enum bert_status answer_ask(struct mlm *mlm, struct passage *passage, struct frame *frame,
                            struct ask *asks, struct bert_error *error) {
    const struct mask_place *places = passage->masks.places;
    size_t count = passage->masks.count;
    if (frame_around(frame, mlm, passage, places, count, NULL))
        return ask_frame(mlm, passage, frame, asks, error);
    enum bert_status status = BERT_OK;
    for (size_t i = 0; i < count && status == BERT_OK; i++) {
        if (!frame_around(frame, mlm, passage, &places[i], 1, NULL))
            return error_set(error, BERT_MODEL, "the model has no room for a text");
        status = ask_frame(mlm, passage, frame, &asks[i], error);
    }
    return status;
}

struct bert_mask *answer_masks(struct mlm *mlm, const struct passage *passage) {
    const struct mask_list *list = &passage->masks;
    struct bert_mask *masks = arena_array(&mlm->results, list->count, sizeof *masks);
    for (size_t i = 0; masks && i < list->count; i++)
        masks[i] =
            (struct bert_mask){.offset = list->places[i].start,
                               .length = list->places[i].end - list->places[i].start,
                               .position = list->places[i].token + 1};
    return masks;
}

bool answer_candidate(struct bert_candidate *candidate, struct mlm *mlm,
                      const struct passage *passage, const struct mask_place *mask,
                      const char *name, double log_probability) {
    struct span word = candidate->id_count == 1 ? splice_word(name) : span_of(name);
    struct patch patch = {mask->start, mask->end, word};
    candidate->word = name;
    candidate->probability = exp(log_probability);
    candidate->text =
        splice_text(&mlm->results, passage->text, &patch, 1, &candidate->text_length);
    return candidate->text != NULL;
}

bool answer_affordable(struct passage *passage, struct mlm *mlm, size_t masks,
                       size_t answers) {
    size_t copies;
    if (size_mul(masks, answers, &copies) && !splice_excessive(passage->text, copies))
        return true;
    passage_fail(passage, mlm,
                 "%zu masks with %zu answers each to a text of %zu bytes are "
                 "too much for one record",
                 masks, answers, passage->text.size);
    return false;
}
