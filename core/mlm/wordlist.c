/* SPDX-License-Identifier: MIT
 *
 * wordlist.c: parses lists of words, refuses what a mask cannot stand for, and builds the
 * tries. */
#include "mlm/wordlist.h"

#include "base/utf8.h"

struct refusals { /* every refused word with its reason, as long as there is room */
    struct buffer text;
    size_t count, named;
};

struct builder {
    struct bert_words *words;
    const struct tokenizer *tokenizer;
    struct arena scratch; /* of one word: tokenizing takes more than its ids */
    size_t longest, capacity, label_capacity;
    struct refusals refused;
};

enum { NAMES_ROOM = 360, WORD_SHOWN = 48 };

static const char *const word_ends[] = {",", "，", "、", NULL};
static const char *const group_ends[] = {";", "；", NULL};
static const char *const label_ends[] = {":", "：", NULL};

/* The first of the separators in text: what is before it, and the rest after it. False
 * when there is none; then before is all. */
static bool split(struct span text, const char *const *separators, struct span *before,
                  struct span *after) {
    for (size_t i = 0; i < text.size; i++)
        for (const char *const *s = separators; *s; s++) {
            size_t length = strlen(*s);
            if (text.size - i < length || memcmp(text.data + i, *s, length) != 0)
                continue;
            *before = (struct span){text.data, i};
            *after = (struct span){text.data + i + length, text.size - i - length};
            return true;
        }
    *before = text;
    *after = (struct span){text.data + text.size, 0};
    return false;
}

static void refuse(struct builder *builder, struct span word, const char *why) {
    struct refusals *refused = &builder->refused;
    refused->count++;
    if (refused->text.size > NAMES_ROOM)
        return;
    size_t shown = word.size;
    if (shown > WORD_SHOWN)
        for (shown = WORD_SHOWN; shown && (word.data[shown] & 0xC0) == 0x80;)
            shown--;
    buffer_printf(&refused->text, "%s'", refused->named++ ? ", " : "");
    buffer_add(&refused->text, word.data, shown);
    buffer_printf(&refused->text, "%s' %s", shown < word.size ? "..." : "", why);
}

/* ---- From a word to its tokens --------------------------------------------------- */

static bool has_blank(struct span word) {
    for (size_t i = 0, bad, length; i < word.size; i += length) {
        uint32_t c;
        length = utf8_decode(word.data + i, word.size - i, &c, &bad);
        if (length == 0)
            return false;
        if (c == ' ' || (c >= 9 && c <= 13) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
            (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
            c == 0x205F || c == 0x3000)
            return true;
    }
    return false;
}

/* NULL when tokens may be asked for, else why not. */
static const char *unsuitable(const struct builder *builder,
                              const struct token_list *tokens) {
    const struct special_ids *special = tokenizer_special(builder->tokenizer);
    const uint64_t *map = tokenizer_class(builder->tokenizer, ENTRY_SPECIAL);
    if (tokens->count == 0)
        return "(no token)";
    for (size_t i = 0; i < tokens->count; i++) {
        int32_t id = tokens->ids[i];
        if (id == special->mask)
            return "(a mask)";
        if (id == special->unknown)
            return "(unknown to the model)";
        if (map[id / 64] >> (id % 64) & 1)
            return "(a special token)";
    }
    if (tokens->count > WORDLIST_LONGEST || tokens->count > builder->longest)
        return "(too long)";
    return NULL;
}

/* A vocabulary entry is taken as it is ("##故"), as Hugging Face takes a target. */
static enum bert_status cut(struct builder *builder, struct span word,
                            struct token_list *tokens, const char **why,
                            struct bert_error *error) {
    *why = word.size == 0                                        ? "(empty)"
           : utf8_valid_prefix(word.data, word.size) < word.size ? "(invalid UTF-8)"
           : memchr(word.data, 0, word.size)                     ? "(a NUL byte)"
           : has_blank(word)                                     ? "(a blank)"
                                                                 : NULL;
    if (*why)
        return BERT_OK;
    int32_t id = tokenizer_id(builder->tokenizer, word);
    struct token_list found = {.count = 1, .ids = &id};
    enum bert_status status = BERT_OK;
    arena_reset(&builder->scratch);
    if (id < 0)
        status = tokenizer_run(builder->tokenizer, word.data, word.size, NULL,
                               &builder->scratch, &found, error);
    if (status != BERT_OK || (*why = unsuitable(builder, &found)))
        return status;
    int32_t *ids = arena_alloc(&builder->words->arena, found.count * sizeof *ids);
    if (!ids)
        return error_memory(error);
    memcpy(ids, found.ids, found.count * sizeof *ids);
    *tokens = (struct token_list){.count = found.count, .ids = ids};
    return BERT_OK;
}

/* ---- The list -------------------------------------------------------------------- */

/* A table that doubles in the arena; NULL without memory. */
static void *grow(struct arena *arena, void *items, size_t count, size_t *capacity,
                  size_t size) {
    if (count < *capacity)
        return items;
    size_t room = *capacity ? 2 * *capacity : 64;
    void *fresh = arena_array(arena, room, size);
    if (!fresh)
        return NULL;
    if (count)
        memcpy(fresh, items, count * size);
    *capacity = room;
    return fresh;
}

static enum bert_status add_label(struct builder *builder, struct span label, int *index,
                                  struct bert_error *error) {
    struct bert_words *words = builder->words;
    if (label.size == 0 || memchr(label.data, 0, label.size) ||
        utf8_valid_prefix(label.data, label.size) < label.size)
        return error_set(error, BERT_USAGE,
                         "a list of words has an empty or broken label");
    for (size_t i = 0; i < words->label_count; i++)
        if (span_equal(span_of(words->labels[i]), label)) {
            *index = (int)i;
            return BERT_OK;
        }
    if (words->label_count == WORDLIST_LABELS)
        return error_set(error, BERT_USAGE, "a list of words has more than %d labels",
                         WORDLIST_LABELS);
    words->labels = grow(&words->arena, words->labels, words->label_count,
                         &builder->label_capacity, sizeof *words->labels);
    char *copy = arena_text(&words->arena, label.data, label.size);
    if (!words->labels || !copy)
        return error_memory(error);
    *index = (int)words->label_count;
    words->labels[words->label_count++] = copy;
    return BERT_OK;
}

static enum bert_status add_word(struct builder *builder, struct span text, int label,
                                 struct bert_error *error) {
    struct bert_words *words = builder->words;
    struct token_list tokens = {0};
    const char *why = NULL;
    enum bert_status status = cut(builder, text, &tokens, &why, error);
    if (status != BERT_OK)
        return status;
    if (why) {
        refuse(builder, text, why);
        return BERT_OK;
    }
    words->words = grow(&words->arena, words->words, words->count, &builder->capacity,
                        sizeof *words->words);
    char *copy = arena_text(&words->arena, text.data, text.size);
    if (!words->words || !copy)
        return error_memory(error);
    words->words[words->count++] = (struct word){
        .text = copy, .ids = tokens.ids, .count = (int)tokens.count, .label = label};
    return BERT_OK;
}

static enum bert_status read_lines(struct builder *builder, struct span list,
                                   struct bert_error *error) {
    static const char *const line_ends[] = {"\n", NULL}, *const tabs[] = {"\t", NULL};
    enum bert_status status = BERT_OK;
    if (list.size >= 3 && memcmp(list.data, "\xEF\xBB\xBF", 3) == 0)
        list = (struct span){list.data + 3, list.size - 3};
    while (list.size && status == BERT_OK) {
        struct span line, word, label;
        int index = -1;
        split(list, line_ends, &line, &list);
        if (line.size && line.data[line.size - 1] == '\r')
            line.size--;
        if (line.size == 0)
            continue;
        if (split(line, tabs, &word, &label))
            status = add_label(builder, label, &index, error);
        if (status == BERT_OK)
            status = add_word(builder, word, index, error);
    }
    return status;
}

static enum bert_status read_inline(struct builder *builder, struct span list,
                                    struct bert_error *error) {
    struct span group = list, rest, before, after, word;
    bool labelled = split(list, label_ends, &before, &after), more = true;
    enum bert_status status = BERT_OK;
    for (rest = list; more && status == BERT_OK;) {
        int index = -1;
        more = labelled && split(rest, group_ends, &group, &rest);
        if (labelled && split(group, label_ends, &before, &after)) {
            status = add_label(builder, before, &index, error);
            group = after;
        }
        for (bool words = true; words && status == BERT_OK;) {
            words = split(group, word_ends, &word, &group);
            status = add_word(builder, word, index, error);
        }
    }
    return status;
}

/* ---- The tries ------------------------------------------------------------------- */

static int compare_tokens(const struct word *a, const struct word *b) {
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    for (int i = 0; i < a->count; i++)
        if (a->ids[i] != b->ids[i])
            return a->ids[i] < b->ids[i] ? -1 : 1;
    return 0;
}

static int compare_words(const void *left, const void *right) {
    const struct word *a = left, *b = right;
    int order = compare_tokens(a, b);
    return order ? order : strcmp(a->text, b->text);
}

static enum bert_status drop_equal(struct bert_words *words, struct bert_error *error) {
    qsort(words->words, words->count, sizeof *words->words, compare_words);
    size_t kept = 0;
    for (size_t i = 0; i < words->count; i++) {
        struct word *last = kept ? &words->words[kept - 1] : NULL;
        if (!last || compare_tokens(last, &words->words[i]) != 0)
            words->words[kept++] = words->words[i];
        else if (last->label != words->words[i].label)
            return error_set(error, BERT_USAGE, "word '%.*s' stands under two labels",
                             WORD_SHOWN, last->text);
    }
    words->count = kept;
    return BERT_OK;
}

/* Counts, or with listed writes, what follows the prefix of a node. For a node above the
 * last depth each child becomes a node. */
static void spread(struct bert_words *words, struct word_node *node, int32_t *listed) {
    bool leaf = node->depth + 1 == words->words[node->low].count;
    node->first = leaf ? node->low : (uint32_t)words->node_count;
    node->listed = listed;
    for (uint32_t i = node->low, from = i; i < node->high; i++) {
        int32_t id = words->words[i].ids[node->depth];
        bool last = i + 1 == node->high || words->words[i + 1].ids[node->depth] != id;
        if (!last)
            continue;
        listed[node->count++] = id;
        if (!leaf)
            words->nodes[words->node_count++] =
                (struct word_node){.depth = node->depth + 1, .low = from, .high = i + 1};
        from = i + 1;
    }
}

static enum bert_status build_tries(struct bert_words *words, struct bert_error *error) {
    size_t tokens = 0;
    for (size_t i = 0; i < words->count; i++)
        tokens += (size_t)words->words[i].count;
    if (tokens > UINT32_MAX / 2)
        return error_set(error, BERT_USAGE, "the list of words is too long");
    /* Every word adds at most a node for each of its proper prefixes, and each node is
     * listed once by its parent. */
    words->nodes = arena_array(&words->arena, tokens, sizeof *words->nodes);
    words->groups = arena_array(&words->arena, WORDLIST_LONGEST, sizeof *words->groups);
    int32_t *listed = arena_array(&words->arena, tokens, sizeof *listed);
    if (!words->nodes || !words->groups || !listed)
        return error_memory(error);
    for (size_t low = 0, high; low < words->count; low = high) {
        for (high = low;
             high < words->count && words->words[high].count == words->words[low].count;)
            high++;
        struct word_group *group = &words->groups[words->group_count++];
        *group =
            (struct word_group){words->words[low].count, (uint32_t)words->node_count, 0};
        words->nodes[words->node_count++] =
            (struct word_node){.low = (uint32_t)low, .high = (uint32_t)high};
        for (size_t i = group->root; i < words->node_count; i++) {
            spread(words, &words->nodes[i], listed);
            listed += words->nodes[i].count;
        }
        group->end = (uint32_t)words->node_count;
    }
    return BERT_OK;
}

static enum bert_status refusal(struct builder *builder, struct bert_error *error) {
    struct refusals *refused = &builder->refused;
    if (refused->count == 0 && builder->words->count == 0)
        return error_set(error, BERT_USAGE, "the list of words is empty");
    if (refused->count == 0)
        return BERT_OK;
    const char *names = buffer_text(&refused->text);
    if (!names)
        return error_memory(error);
    size_t more = refused->count - refused->named;
    if (more)
        return error_set(error, BERT_USAGE, "words that no mask can be: %s and %zu more",
                         names, more);
    return error_set(error, BERT_USAGE, "words that no mask can be: %s", names);
}

enum bert_status wordlist_new(struct bert_words **words,
                              const struct tokenizer *tokenizer, size_t longest,
                              struct span list, bool lines, struct bert_error *error) {
    struct builder builder = {.tokenizer = tokenizer, .longest = longest};
    builder.words = *words = calloc(1, sizeof **words);
    if (!*words)
        return error_memory(error);
    arena_init(&(*words)->arena);
    arena_init(&builder.scratch);
    enum bert_status status = BERT_OK;
    if (lines)
        status = read_lines(&builder, list, error);
    else if (list.size)
        status = read_inline(&builder, list, error);
    if (status == BERT_OK)
        status = refusal(&builder, error);
    buffer_release(&builder.refused.text);
    arena_release(&builder.scratch);
    if (status == BERT_OK)
        status = drop_equal(*words, error);
    if (status == BERT_OK)
        status = build_tries(*words, error);
    if (status != BERT_OK) {
        wordlist_free(*words);
        *words = NULL;
    }
    return status;
}

void wordlist_free(struct bert_words *words) {
    if (!words)
        return;
    arena_release(&words->arena);
    free(words);
}
