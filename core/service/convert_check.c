/* SPDX-License-Identifier: MIT
 *
 * convert_check.c: looks at models without changing them. */
#include "base/path.h"
#include "io/json.h"
#include "io/tsv.h"
#include "model/origin.h"
#include "model/safetensors.h"
#include "service/convert.h"

#include <math.h>

/* ---- Inspect ---- */

static void put_shape(struct buffer *out, const struct tensor *tensor,
                      const char *between) {
    for (int i = 0; i < tensor->rank; i++)
        buffer_printf(out, "%s%llu", i ? between : "",
                      (unsigned long long)tensor->shape[i]);
}

static size_t tensor_bytes_stored(const struct tensor *tensor) {
    size_t elements = 0, bytes = 0;
    if (tensor_elements(tensor, &elements) &&
        size_mul(elements, element_size(tensor->element), &bytes))
        return bytes;
    return 0;
}

static void put_row(struct buffer *out, const struct tensor *tensor) {
    char part[NAME_SIZE] = "";
    if (tensor->known)
        names_format(tensor->slot, part);
    tsv_put_cell(out, tensor->name, strlen(tensor->name));
    buffer_printf(out, "\t%s\t", element_name(tensor->element));
    put_shape(out, tensor, "x");
    buffer_printf(out, "\t%zu\t%s\n", tensor_bytes_stored(tensor), part);
}

static void put_object(struct buffer *out, const struct tensor *tensor) {
    char part[NAME_SIZE];
    buffer_add_text(out, "{\"name\":");
    json_put_text(out, tensor->name, strlen(tensor->name));
    buffer_printf(out, ",\"type\":\"%s\",\"shape\":[", element_name(tensor->element));
    put_shape(out, tensor, ",");
    buffer_printf(out, "],\"bytes\":%zu", tensor_bytes_stored(tensor));
    if (tensor->known) {
        names_format(tensor->slot, part);
        buffer_printf(out, ",\"part\":\"%s\"", part);
    }
    buffer_add_byte(out, '}');
}

/* The texts of __metadata__ of a file in the safetensors format. */
static void put_metadata(struct buffer *out, const struct checkpoint *checkpoint) {
    const struct mapping *mapping = checkpoint->mappings;
    struct safetensors_header header;
    buffer_add_text(out, ",\"metadata\":{");
    if (strcmp(checkpoint->format, "safetensors") == 0 &&
        safetensors_header(&header, mapping->data, mapping->size, "", NULL) == BERT_OK) {
        struct json_pair pair = {0};
        struct span text;
        bool first = true;
        while (json_next(json_member(header.json, "__metadata__"), &pair)) {
            if (!json_get_text(pair.value, &text))
                continue;
            buffer_add_text(out, first ? "" : ",");
            json_put_text(out, pair.name.data, pair.name.size);
            buffer_add_byte(out, ':');
            json_put_text(out, text.data, text.size);
            first = false;
        }
        json_free(header.json);
    }
    buffer_add_byte(out, '}');
}

enum bert_status convert_inspect(const char *path, bool no_mmap, bool json,
                                 struct buffer *out, struct bert_error *error) {
    struct checkpoint checkpoint;
    enum bert_status status = checkpoint_open(&checkpoint, path, no_mmap, error);
    if (status != BERT_OK)
        return status;
    if (json) {
        buffer_add_text(out, "{\"path\":");
        json_put_text(out, checkpoint.path, strlen(checkpoint.path));
        buffer_printf(out, ",\"format\":\"%s\"", checkpoint.format);
        put_metadata(out, &checkpoint);
        buffer_add_text(out, ",\"tensors\":[");
    } else {
        buffer_add_text(out, "name\ttype\tshape\tbytes\tpart\n");
    }
    for (size_t i = 0; i < checkpoint.count; i++) {
        if (!json) {
            put_row(out, &checkpoint.tensors[i]);
            continue;
        }
        buffer_add_text(out, i ? "," : "");
        put_object(out, &checkpoint.tensors[i]);
    }
    if (json)
        buffer_add_text(out, "]}\n");
    checkpoint_close(&checkpoint);
    return out->failed ? error_memory(error) : BERT_OK;
}

/* ---- Verify ---- */

enum bert_status convert_verify(const char *path, bool no_mmap, uint64_t *bytes,
                                struct bert_error *error) {
    struct origin origin;
    struct weights weights;
    struct keeper keeper = {0};
    const struct loader_options options = {.no_mmap = no_mmap};
    enum bert_status status =
        path_is_folder(path)
            ? error_set(error, BERT_MODEL, "%s: no model.bert file", path)
            : origin_open(&origin, path, &options, error);
    if (path_is_folder(path))
        return status;
    if (status == BERT_OK && !origin_is_bertfile(&origin))
        status = error_set(error, BERT_MODEL, "%s: no model.bert file", path);
    if (status == BERT_OK)
        status = bertfile_weights(&origin.bertfile, &weights, &keeper, error);
    if (status == BERT_OK)
        status = bertfile_verify(&origin.bertfile, error);
    *bytes = origin.mapping.size;
    keeper_release(&keeper);
    origin_release(&origin);
    return status;
}

/* ---- Self-test ---- */

static const char *const sentences[] = {
    "今天[MASK]情很好",
    "the capital of france is [MASK] .",
};

enum bert_status convert_self_test(struct bert_model *model,
                                   struct convert_answer *answer,
                                   struct bert_error *error) {
    struct bert_session *session;
    enum bert_status status = bert_session_new(&session, model, 0, error);
    if (status != BERT_OK)
        return status;
    status =
        error_set(error, BERT_RECORD, "the vocabulary knows none of the test sentences");
    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++) {
        struct bert_text text = {.bytes = sentences[i], .length = strlen(sentences[i])};
        struct bert_fill_options options = {.k = 1};
        struct bert_result result;
        struct bert_tokens tokens;
        if (bert_tokenize(session, text.bytes, text.length, 0, &tokens, NULL) !=
                BERT_OK ||
            tokens.unknown > 0)
            continue;
        status = bert_fill(session, &text, 1, &options, &result, error);
        if (status == BERT_OK && result.status != BERT_OK)
            status = error_set(error, BERT_RECORD, "%s", result.error);
        if (status == BERT_OK) {
            const struct bert_candidate *first = &result.masks[0].candidates[0];
            snprintf(answer->text, sizeof answer->text, "%s", sentences[i]);
            snprintf(answer->word, sizeof answer->word, "%s", first->word);
            answer->probability = first->probability;
        }
        break;
    }
    bert_session_free(session);
    return status;
}

/* ---- Compare ---- */

enum { FIRST = 5, DEEP = 100 };

static double probability_of(const struct bert_mask *mask, const char *word) {
    for (size_t i = 0; i < mask->candidate_count; i++)
        if (strcmp(mask->candidates[i].word, word) == 0)
            return mask->candidates[i].probability;
    return 0;
}

static bool in_first_five(const struct bert_mask *mask, const char *word) {
    for (size_t i = 0; i < mask->candidate_count && i < FIRST; i++)
        if (strcmp(mask->candidates[i].word, word) == 0)
            return true;
    return false;
}

static void compare_mask(const struct bert_mask *a, const struct bert_mask *b,
                         struct convert_difference *difference) {
    size_t count = a->candidate_count < FIRST ? a->candidate_count : FIRST;
    bool same = true;
    for (size_t i = 0; i < count; i++) {
        const struct bert_candidate *answer = &a->candidates[i];
        double apart = fabs(answer->probability - probability_of(b, answer->word));
        difference->largest = apart > difference->largest ? apart : difference->largest;
        difference->sum += apart;
        difference->compared++;
        same &= in_first_five(b, answer->word);
    }
    difference->masks++;
    difference->same_five += same;
    difference->same_first += count > 0 && b->candidate_count > 0 &&
                              strcmp(a->candidates[0].word, b->candidates[0].word) == 0;
}

enum bert_status convert_compare(struct bert_session *a, struct bert_session *b,
                                 const char *text, size_t length,
                                 struct convert_difference *difference,
                                 struct bert_error *error) {
    struct bert_text input = {.bytes = text, .length = length};
    struct bert_fill_options options = {.k = DEEP};
    struct bert_result left, right;
    enum bert_status status = bert_fill(a, &input, 1, &options, &left, error);
    if (status == BERT_OK)
        status = bert_fill(b, &input, 1, &options, &right, error);
    if (status != BERT_OK)
        return status;
    const char *why = left.status != BERT_OK    ? left.error
                      : right.status != BERT_OK ? right.error
                                                : NULL;
    if (!why && left.mask_count != right.mask_count)
        why = "the two models see a different number of masks";
    difference->texts++;
    difference->failed += why != NULL;
    if (why)
        return error_set(error, BERT_RECORD, "%s", why);
    for (size_t i = 0; i < left.mask_count; i++)
        compare_mask(&left.masks[i], &right.masks[i], difference);
    return BERT_OK;
}
