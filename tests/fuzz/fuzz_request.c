/* SPDX-License-Identifier: MIT
 *
 * fuzz_request.c: a request as the server takes it apart: the target, and by the first
 * byte a JSON body in each shape or a multipart body. What must hold of the parts is
 * checked. */
#include "base/utf8.h"
#include "service/ask.h"
#include "service/multipart.h"
#include "service/target.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds)
        abort();
}

static bool lies_in(struct span part, struct span whole) {
    return part.size == 0 ||
           (part.data >= whole.data && part.data + part.size <= whole.data + whole.size);
}

static void check_ask(struct span body, enum ask_shape shape,
                      const struct target *query) {
    struct ask ask;
    struct bert_error error;
    const char *code;
    if (ask_parse(&ask, shape, body, query, &code, &error) == BERT_OK) {
        require(ask.count >= 1 && ask.count <= ASK_MOST_TEXTS);
        require(ask.k >= 0 && ask.k <= ASK_MOST_K && (ask.k > 0 || ask.words.size > 0));
        for (size_t i = 0; i < ask.count; i++)
            require(utf8_valid_prefix(ask.texts[i].data, ask.texts[i].size) ==
                    ask.texts[i].size);
    } else {
        require(code[0] != '\0' && error.message[0] != '\0');
    }
    ask_release(&ask);
}

static void check_target(struct span raw) {
    struct target target;
    struct bert_error error;
    if (target_parse(&target, raw, &error) == BERT_OK) {
        struct span decoded = {target.decoded.data, target.decoded.size};
        require(target.path.size > 0 && target.path.data[0] == '/');
        require(lies_in(target.path, decoded));
        require(!memmem(target.path.data, target.path.size, "/../", 4));
        for (size_t i = 0; i < target.query_count; i++) {
            struct span text = target.query[i].value;
            require(lies_in(text, decoded));
            require(utf8_valid_prefix(text.data, text.size) == text.size);
        }
        check_ask(span_of(""), ASK_PREDICT, &target);
    }
    target_release(&target);
}

static void check_multipart(const char *type, struct span body) {
    struct multipart multipart;
    struct multipart_part part;
    if (!multipart_start(&multipart, type, body))
        return;
    while (multipart_next(&multipart, &part) == MULTIPART_PART) {
        require(lies_in(part.content, body));
        require(lies_in(part.name, body));
    }
}

/* "kind\n" line "\n" rest: the line is the target or the content type. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1)
        return 0;
    struct span rest = {(const char *)data + 1, size - 1};
    const char *end = memchr(rest.data, '\n', rest.size);
    struct span line = {rest.data, end ? (size_t)(end - rest.data) : rest.size};
    size_t used = line.size + (end != NULL);
    struct span body = {rest.data + used, rest.size - used};
    char *text = strndup(line.data, line.size);
    if (!text)
        return 0;
    if (data[0] % 3 == 2)
        check_multipart(text, body);
    else
        check_ask(body, data[0] % 3 ? ASK_PREDICT : ASK_FILL_MASK, NULL);
    check_target(line);
    free(text);
    return 0;
}
