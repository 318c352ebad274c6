/* SPDX-License-Identifier: MIT
 *
 * charmap.c: builds the pages: ranges of classes first, then the ids of the vocabulary's
 * single characters, then the mappings of scripts that are common beside Chinese. */
#include "text/charmap.h"

#include "text/normalize.h"

#include <stdlib.h>

enum { PAGE = 256, MOST_SHARED = 8 };

struct builder {
    struct charmap *map;
    uint32_t shared[MOST_SHARED]; /* pages whose cells are all equal */
    uint32_t shared_count;
    bool failed;
};

static uint32_t cell_of(enum charmap_kind kind, uint32_t payload) {
    return (uint32_t)kind << CHARMAP_SHIFT | payload;
}

static uint32_t add_page(struct builder *builder) {
    struct charmap *map = builder->map;
    if (map->count == map->capacity) {
        uint32_t capacity = map->capacity ? 2 * map->capacity : 256;
        void *cells = realloc(map->cells, capacity * sizeof *map->cells);
        if (cells == NULL) {
            builder->failed = true;
            return 0;
        }
        map->cells = cells;
        map->capacity = capacity;
    }
    return map->count++;
}

static bool is_shared(const struct builder *builder, uint32_t page) {
    for (uint32_t i = 0; i < builder->shared_count; i++)
        if (builder->shared[i] == page)
            return true;
    return false;
}

static void fill(uint32_t *cells, uint32_t value, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        cells[i] = value;
}

/* A page whose cells are all value. */
static uint32_t shared_page(struct builder *builder, uint32_t value) {
    for (uint32_t i = 0; i < builder->shared_count; i++)
        if (builder->map->cells[builder->shared[i]][0] == value)
            return builder->shared[i];
    uint32_t page = add_page(builder);
    if (builder->failed)
        return 0;
    fill(builder->map->cells[page], value, PAGE);
    if (builder->shared_count < MOST_SHARED)
        builder->shared[builder->shared_count++] = page;
    return page;
}

/* The cells of a page that may be written; NULL without memory. */
static uint32_t *own_page(struct builder *builder, uint32_t index) {
    struct charmap *map = builder->map;
    uint32_t page = map->pages[index];
    if (is_shared(builder, page)) {
        uint32_t copy = add_page(builder);
        if (builder->failed)
            return NULL;
        memcpy(map->cells[copy], map->cells[page], sizeof *map->cells);
        map->pages[index] = (uint16_t)copy;
        page = copy;
    }
    return map->cells[page];
}

static void set_range(struct builder *builder, uint32_t first, uint32_t end,
                      uint32_t value) {
    while (first < end && !builder->failed) {
        uint32_t index = first / PAGE, at = first % PAGE;
        uint32_t count = PAGE - at < end - first ? PAGE - at : end - first;
        if (count == PAGE) {
            builder->map->pages[index] = (uint16_t)shared_page(builder, value);
        } else {
            uint32_t *cells = own_page(builder, index);
            if (cells != NULL)
                fill(cells + at, value, count);
        }
        first += count;
    }
}

static uint32_t value_of(const struct charmap_settings *settings, unsigned flags,
                         int32_t unknown) {
    unsigned class = flags & UNICODE_CLASS, slow = 0;
    if (class == UNICODE_DROP)
        return cell_of(CHARMAP_DROP, 0);
    if (class == UNICODE_BLANK)
        return cell_of(CHARMAP_BLANK, 0);
    if (settings->strip_accents)
        slow |= flags & (UNICODE_DECOMPOSES | UNICODE_REORDERS);
    if (settings->lower_case)
        slow |= flags & UNICODE_LOWERS;
    if (slow != 0 || (settings->strip_accents && class == UNICODE_MARK))
        return cell_of(CHARMAP_SLOW, slow | class);
    if (class == UNICODE_PUNCTUATION || (class == UNICODE_CJK && settings->split_chinese))
        return cell_of(CHARMAP_ALONE, (uint32_t)unknown);
    return cell_of(CHARMAP_WORD, 0);
}

static void set_classes(struct builder *builder, int32_t unknown) {
    for (size_t i = 0; i < unicode_range_count; i++) {
        uint32_t end =
            i + 1 < unicode_range_count ? unicode_ranges[i + 1] >> 8 : UNICODE_LIMIT;
        set_range(builder, unicode_ranges[i] >> 8, end,
                  value_of(&builder->map->settings, unicode_ranges[i] & 0xff, unknown));
    }
}

static void set_ids(struct builder *builder, const struct vocab *vocab) {
    for (int32_t id = 0; id < vocab->count && !builder->failed; id++) {
        struct span entry = vocab_entry(vocab, id);
        size_t length;
        if (entry.size == 0 || entry.size > 4)
            continue;
        uint32_t codepoint = charmap_decode(entry.data, entry.size, &length);
        if (length != entry.size ||
            charmap_cell(builder->map, codepoint) >> CHARMAP_SHIFT != CHARMAP_ALONE)
            continue;
        uint32_t *cells = own_page(builder, codepoint / PAGE);
        if (cells != NULL)
            cells[codepoint % PAGE] = cell_of(CHARMAP_ALONE, (uint32_t)id);
    }
}

/* What a slow character comes to when it is exactly one other, or itself. */
static uint32_t settle(const struct charmap *map, uint32_t codepoint, uint32_t cell) {
    uint32_t parts[NORMALIZE_MOST] = {codepoint}, lower[NORMALIZE_MOST], kept = 0;
    size_t count = 1, keeping = 0;
    if (map->settings.strip_accents)
        count = normalize_decompose(codepoint, parts);
    for (size_t i = 0; i < count; i++) {
        unsigned flags = unicode_flags(parts[i]);
        if (map->settings.strip_accents && (flags & UNICODE_CLASS) == UNICODE_MARK)
            continue;
        if (map->settings.strip_accents && (flags & UNICODE_REORDERS))
            return cell;
        kept = parts[i];
        keeping++;
    }
    if (keeping != 1)
        return cell;
    if (map->settings.lower_case && normalize_lower(kept, lower) != 1)
        return cell;
    if (map->settings.lower_case)
        kept = lower[0];
    uint32_t final = charmap_cell(map, kept);
    if (final >> CHARMAP_SHIFT == CHARMAP_ALONE)
        return final;
    return cell_of(CHARMAP_WORD, kept ^ codepoint);
}

static void settle_common(struct builder *builder) {
    static const uint32_t common[][2] = {
        {0x0000, 0x05ff}, {0x2100, 0x24ff}, {0x3000, 0x30ff}, {0xff00, 0xffff}};
    for (size_t i = 0; i < sizeof common / sizeof *common && !builder->failed; i++)
        for (uint32_t c = common[i][0]; c <= common[i][1]; c++) {
            uint32_t cell = charmap_cell(builder->map, c);
            if (cell >> CHARMAP_SHIFT != CHARMAP_SLOW)
                continue;
            uint32_t *cells = own_page(builder, c / PAGE);
            if (cells != NULL)
                cells[c % PAGE] = settle(builder->map, c, cell);
        }
}

bool charmap_init(struct charmap *map, const struct charmap_settings *settings,
                  const struct vocab *vocab, int32_t unknown) {
    struct builder builder = {.map = map};
    *map = (struct charmap){.settings = *settings};
    uint32_t page = shared_page(&builder, cell_of(CHARMAP_WORD, 0));
    for (uint32_t i = 0; i < UNICODE_LIMIT / PAGE; i++)
        map->pages[i] = (uint16_t)page;
    set_classes(&builder, unknown);
    set_ids(&builder, vocab);
    settle_common(&builder);
    if (builder.failed)
        charmap_release(map);
    return !builder.failed;
}

void charmap_release(struct charmap *map) {
    free(map->cells);
    *map = (struct charmap){0};
}
