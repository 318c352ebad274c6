/* SPDX-License-Identifier: MIT
 *
 * cluster.c: a cluster may be as long as the text (a hostile one is a million marks), so
 * marks are sorted by counting. */
#include "text/cluster.h"

#include "text/normalize.h"

void cluster_init(struct cluster *cluster) {
    cluster->items = cluster->room[0];
    cluster->spare = cluster->room[1];
    cluster->sources = cluster->room[2];
    cluster->capacity = CLUSTER_ROOM;
    cluster->count = 0;
}

static bool grow(struct cluster *cluster, struct arena *arena) {
    size_t capacity = 2 * cluster->capacity, bytes;
    if (!size_mul(capacity, 3 * sizeof *cluster->items, &bytes))
        return false;
    struct cluster_item *items = arena_alloc(arena, bytes);
    if (items == NULL)
        return false;
    memcpy(items, cluster->items, cluster->count * sizeof *items);
    cluster->items = items;
    cluster->spare = items + capacity;
    cluster->sources = items + 2 * capacity;
    cluster->capacity = capacity;
    return true;
}

static bool add(struct cluster *cluster, bool strip, uint32_t codepoint, size_t start,
                size_t end, struct arena *arena) {
    uint32_t parts[NORMALIZE_MOST] = {codepoint};
    size_t count = strip ? normalize_decompose(codepoint, parts) : 1;
    /* Half of the room stays free: a lower case may be two characters. */
    while (cluster->capacity / 2 < cluster->count + NORMALIZE_MOST)
        if (!grow(cluster, arena))
            return false;
    for (size_t i = 0; i < count; i++)
        cluster->items[cluster->count++] = (struct cluster_item){
            parts[i], strip ? unicode_order(parts[i]) : 0, i == 0, start, end};
    return true;
}

/* Sorts items begin..end by combining class; equal ones keep their order. */
static void sort(struct cluster *cluster, size_t begin, size_t end) {
    size_t places[256] = {0}, sum = begin;
    for (size_t i = begin; i < end; i++)
        places[cluster->items[i].order]++;
    for (size_t i = 0; i < 256; i++) {
        size_t count = places[i];
        places[i] = sum;
        sum += count;
    }
    for (size_t i = begin; i < end; i++)
        cluster->spare[places[cluster->items[i].order]++] = cluster->items[i];
    memcpy(cluster->items + begin, cluster->spare + begin,
           (end - begin) * sizeof *cluster->items);
}

/* Sorts each run of marks. Then the n-th first part is said to come from the n-th source,
 * and a further part from the source before it. */
static void reorder(struct cluster *cluster) {
    struct cluster_item *items = cluster->items;
    bool sorted = false;
    size_t sources = 0;
    for (size_t i = 0; i < cluster->count; i++)
        if (items[i].first)
            cluster->sources[sources++] = items[i];
    for (size_t begin = 0, end; begin < cluster->count; begin = end) {
        bool falls = false;
        for (end = begin + 1;
             end < cluster->count && items[begin].order != 0 && items[end].order != 0;
             end++)
            falls |= items[end].order < items[end - 1].order;
        if (falls)
            sort(cluster, begin, end);
        sorted |= falls;
    }
    sources = 0;
    for (size_t i = 0; sorted && i < cluster->count; i++) {
        sources += items[i].first;
        const struct cluster_item *source =
            &cluster->sources[sources > 0 ? sources - 1 : 0];
        items[i].start = source->start;
        items[i].end = source->end;
    }
}

static void strip_and_lower(struct cluster *cluster,
                            const struct charmap_settings *settings) {
    struct cluster_item *out = cluster->spare;
    for (size_t i = 0; i < cluster->count; i++) {
        struct cluster_item item = cluster->items[i];
        uint32_t lower[NORMALIZE_MOST] = {item.codepoint};
        if (settings->strip_accents &&
            (unicode_flags(item.codepoint) & UNICODE_CLASS) == UNICODE_MARK)
            continue;
        size_t count = settings->lower_case ? normalize_lower(item.codepoint, lower) : 1;
        for (size_t j = 0; j < count; j++, out++) {
            *out = item;
            out->codepoint = lower[j];
        }
    }
    cluster->count = (size_t)(out - cluster->spare);
    out = cluster->items;
    cluster->items = cluster->spare;
    cluster->spare = out;
}

size_t cluster_read(struct cluster *cluster, const struct charmap *map, const char *text,
                    size_t at, size_t end, struct arena *arena) {
    bool strip = map->settings.strip_accents, more = true;
    size_t next = at;
    cluster->count = 0;
    while (more && next < end) {
        size_t length;
        uint32_t codepoint = charmap_decode(text + next, end - next, &length);
        uint32_t cell = charmap_cell(map, codepoint);
        more = cell >> CHARMAP_SHIFT == CHARMAP_DROP || next == at ||
               (cell >> CHARMAP_SHIFT == CHARMAP_SLOW && (cell & UNICODE_REORDERS));
        if (!more)
            break;
        if (cell >> CHARMAP_SHIFT != CHARMAP_DROP &&
            !add(cluster, strip, codepoint, next, next + length, arena))
            return 0;
        next += length;
        more = strip;
    }
    reorder(cluster);
    strip_and_lower(cluster, &map->settings);
    return next;
}
