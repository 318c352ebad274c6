/* SPDX-License-Identifier: MIT
 *
 * fuzz_config.c: config.json and tokenizer_config.json; what is read is written and read
 * again, and must be the same. */
#include "fuzz_file.h"

#include "model/config.h"
#include "model/tokenizer_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct span text = {(const char *)data, size};
    struct config config, again;
    struct tokenizer_settings settings;
    struct buffer out = {0};
    tokenizer_settings_parse(&settings, text, "fuzz", NULL);
    if (config_parse(&config, text, "fuzz", NULL) == BERT_OK && config.model.vocabulary &&
        config.model.positions && config.model.types) {
        config_write(&config, &out);
        struct span written = {out.data, out.size};
        if (config_parse(&again, written, "fuzz", NULL) != BERT_OK ||
            memcmp(&config.model, &again.model, sizeof config.model) != 0 ||
            config.tied != again.tied)
            abort();
    }
    buffer_release(&out);
    return 0;
}
