/* SPDX-License-Identifier: MIT
 *
 * fill.c: a program that fills masks with libbert. After make install install-dev:
 *     cc fill.c $(pkg-config --cflags --libs bert) -o fill && ./fill '今天天气真[MASK]啊' */
#include <bert.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    struct bert_open_options options = {.prefix = "/usr/local"}; /* the model that ships */
    struct bert_text text = {.bytes = argv[argc - 1], .length = strlen(argv[argc - 1])};
    struct bert_model *model = NULL;
    struct bert_session *session = NULL;
    struct bert_result result = {0};
    struct bert_error error;
    if (bert_open(&model, &options, &error) != BERT_OK ||
        bert_session_new(&session, model, 0, &error) != BERT_OK ||
        bert_fill(session, &text, 1, &(struct bert_fill_options){.k = 3}, &result,
                  &error) != BERT_OK)
        fprintf(stderr, "%s\n", error.message);
    else if (result.status != BERT_OK)
        fprintf(stderr, "%s\n", result.error);
    for (size_t m = 0; m < result.mask_count; m++)
        for (size_t i = 0; i < result.masks[m].candidate_count; i++)
            printf("%.4f %s\n", result.masks[m].candidates[i].probability,
                   result.masks[m].candidates[i].text);
    bert_session_free(session);
    bert_close(model);
    return result.mask_count == 0;
}
