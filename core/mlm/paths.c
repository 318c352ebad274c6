/* SPDX-License-Identifier: MIT
 *
 * paths.c: insertion into a short sorted list. */
#include "mlm/paths.h"

#include <string.h>

bool paths_new(struct paths *paths, struct arena *arena, size_t limit) {
    *paths = (struct paths){arena_array(arena, limit, sizeof *paths->list), 0, limit};
    return paths->list != NULL;
}

int paths_compare(const int32_t *a, const int32_t *b, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

/* The ids of the path that drops out are used again. */
bool paths_offer(struct paths *paths, struct arena *arena, double score,
                 const int32_t *prefix, size_t depth, int32_t id) {
    int32_t *ids = NULL;
    if (paths->count == paths->limit) {
        struct path *worst = &paths->list[paths->limit - 1];
        if (score < worst->score)
            return true;
        if (score == worst->score) {
            int order = paths_compare(prefix, worst->ids, depth);
            if (order > 0 || (order == 0 && id > worst->ids[depth]))
                return true;
        }
        ids = worst->ids;
        paths->count--;
    }
    if (!ids)
        ids = arena_alloc(arena, (depth + 1) * sizeof *ids);
    if (!ids)
        return false;
    if (depth)
        memcpy(ids, prefix, depth * sizeof *ids);
    ids[depth] = id;
    size_t at = paths->count++;
    for (; at > 0; at--) {
        const struct path *before = &paths->list[at - 1];
        if (before->score > score ||
            (before->score == score && paths_compare(before->ids, ids, depth + 1) < 0))
            break;
        paths->list[at] = *before;
    }
    paths->list[at] = (struct path){score, ids};
    return true;
}
