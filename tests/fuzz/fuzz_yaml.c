/* SPDX-License-Identifier: MIT
 *
 * fuzz_yaml.c: any bytes as a configuration file. What is read is written anew, every
 * character escaped, and read again: the same items must come. */
#include "fuzz_file.h"

#include "base/bytes.h"
#include "base/utf8.h"
#include "io/yaml.h"

static void require(bool holds) {
    if (!holds)
        abort();
}

struct copy {
    struct buffer items;       /* what came: section, key, value, whether in a list */
    struct buffer yaml;        /* the same as a file */
    struct yaml_place last[3]; /* of the item before, by enum yaml_part */
};

static int compare(struct yaml_place left, struct yaml_place right) {
    return left.line != right.line       ? (left.line < right.line ? -1 : 1)
           : left.column != right.column ? (left.column < right.column ? -1 : 1)
                                         : 0;
}

static void put_quoted(struct buffer *out, const char *text) {
    uint32_t c;
    size_t bad;
    buffer_add_byte(out, '"');
    for (size_t left = strlen(text), used; left > 0; text += used, left -= used) {
        used = utf8_decode(text, left, &c, &bad);
        require(used > 0);
        buffer_printf(out, "\\U%08X", c);
    }
    buffer_add_text(out, "\"\n");
}

/* Keys of any length need the form "? KEY : VALUE". */
static void put_item(struct copy *copy, const struct yaml_item *item) {
    struct buffer *out = &copy->yaml;
    const char *indent = item->section ? "  " : "";
    if (item->section &&
        compare(item->places[YAML_SECTION], copy->last[YAML_SECTION]) != 0) {
        buffer_add_text(out, "? ");
        put_quoted(out, item->section);
        buffer_add_text(out, ":\n");
    }
    if (compare(item->places[YAML_KEY], copy->last[YAML_KEY]) != 0) {
        buffer_printf(out, "%s? ", indent);
        put_quoted(out, item->key);
        buffer_printf(out, item->listed ? "%s:\n" : "%s: ", indent);
    }
    if (item->listed)
        buffer_printf(out, "%s  - ", indent);
    put_quoted(out, item->value);
}

static enum bert_status take(void *arg, const struct yaml_item *item,
                             enum yaml_part *culprit, struct bert_error *error) {
    struct copy *copy = arg;
    /* What is left out, as in {?,}, lies where the next thing does. */
    require(compare(item->places[YAML_KEY], item->places[YAML_VALUE]) <= 0);
    require(compare(copy->last[YAML_VALUE], item->places[YAML_VALUE]) <= 0);
    require(!item->section ||
            compare(item->places[YAML_SECTION], item->places[YAML_KEY]) <= 0);
    put_item(copy, item);
    memcpy(copy->last, item->places, sizeof copy->last);
    buffer_add_text(&copy->items, item->section ? item->section : "\1");
    buffer_add_byte(&copy->items, 0);
    buffer_add(&copy->items, item->key, strlen(item->key) + 1);
    buffer_add(&copy->items, item->value, strlen(item->value) + 1);
    buffer_add_byte(&copy->items, item->listed);
    if (strcmp(item->value, "refuse") != 0)
        return BERT_OK;
    *culprit = YAML_KEY;
    return error_set(error, BERT_USAGE, "refused");
}

static void check_again(const struct copy *first) {
    struct copy second = {0};
    struct bert_error error;
    const char *path = fuzz_file((const uint8_t *)first->yaml.data, first->yaml.size);
    require(yaml_read(path, take, &second, &error) == BERT_OK);
    require(second.items.size == first->items.size);
    require(second.items.size == 0 ||
            memcmp(second.items.data, first->items.data, second.items.size) == 0);
    buffer_release(&second.items);
    buffer_release(&second.yaml);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct copy copy = {0};
    struct bert_error error;
    const char *path = fuzz_file(data, size);
    enum bert_status status = yaml_read(path, take, &copy, &error);
    if (status == BERT_OK)
        check_again(&copy);
    else /* the message begins with the file */
        require(status == BERT_USAGE && strncmp(error.message, path, strlen(path)) == 0);
    buffer_release(&copy.items);
    buffer_release(&copy.yaml);
    return 0;
}
