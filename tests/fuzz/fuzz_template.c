/* SPDX-License-Identifier: MIT
 *
 * fuzz_template.c: any text as a template, filled from a record of three columns. What
 * reads without columns gives itself, braces halved. */
#include "io/template.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds)
        abort();
}

static void fill(struct template *template) {
    static const char table[] = "a,b,中\n1,\"{\",3\n";
    struct records_options options = {.format = FORMAT_CSV};
    struct records *records;
    struct record record = {0};
    struct buffer with = {0}, without = {0};
    bool end;
    require(records_open_memory(&records, table, sizeof table - 1, &options, NULL) == 0);
    require(records_next(records, &record, &end, NULL) == BERT_OK && !end);
    if (template_resolve(template, records, NULL) == BERT_OK) {
        size_t columns = 0;
        for (size_t i = 0; i < template->count; i++)
            columns += template->pieces[i].is_column;
        template_put(template, &record, &with);
        template_put(template, NULL, &without);
        require(with.size == without.size + columns);
    }
    buffer_release(&with);
    buffer_release(&without);
    record_release(&record);
    records_close(records);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct buffer text = {0};
    struct template template;
    struct bert_error error;
    buffer_add(&text, data, size);
    if (template_parse(&template, buffer_text(&text), &error) == BERT_OK) {
        fill(&template);
        template_release(&template);
    } else {
        require(error.status == BERT_USAGE);
    }
    buffer_release(&text);
    return 0;
}
