/* SPDX-License-Identifier: MIT
 *
 * workspace.c: sizes are summed with overflow checks in a first walk over the zones, and
 * the zones are placed in a second, the same walk. */
#include "nn/workspace.h"

#include "base/bytes.h"

#include <stdlib.h>

enum { LINE = 64, PAGE = 4096 };

struct walk {
    char *memory; /* NULL: only summing */
    size_t used;
    bool overflow;
};

static void *zone(struct walk *walk, size_t rows, size_t row_bytes) {
    size_t size, begin = walk->used;
    if (!size_mul(rows, row_bytes, &size) || !size_add(size, LINE - 1, &size) ||
        !size_add(begin, size / LINE * LINE, &walk->used))
        walk->overflow = true;
    return walk->memory == NULL ? NULL : walk->memory + begin;
}

/* Elements from one row to the next: whole cache lines, never close to a multiple of 1
 * KB, where a tile's rows would compete for the same few cache sets. */
static size_t padded(size_t width, size_t element) {
    size_t bytes = (width * element + LINE - 1) / LINE * LINE;
    if (bytes % (PAGE / 4) == 0)
        bytes += LINE;
    return bytes / element;
}

static void place(struct workspace *w, struct walk *walk, const struct model_config *c) {
    size_t hidden = (size_t)c->hidden, up = (size_t)c->intermediate;
    w->hidden_stride = padded(hidden, sizeof(float));
    w->qkv_stride = padded(3 * hidden, sizeof(float));
    w->up_stride = padded(up, sizeof(float));
    w->logit_stride = padded((size_t)c->vocabulary, sizeof(float));
    w->hidden = zone(walk, w->rows, w->hidden_stride * sizeof(float));

    size_t qkv = w->rows * (w->qkv_stride + w->hidden_stride);
    size_t feed = w->feed_rows * w->up_stride;
    w->qkv = zone(walk, qkv > feed ? qkv : feed, sizeof(float));
    w->context = walk->memory == NULL ? NULL : w->qkv + w->rows * w->qkv_stride;
    w->up = w->qkv;

    w->positions = zone(walk, w->rows, sizeof *w->positions);
    w->query_start = zone(walk, w->rows + 1, sizeof *w->query_start);
    w->logits = zone(walk, LOGIT_ROWS, w->logit_stride * sizeof(float));
}

static void place_quantized(struct quantized *q, struct walk *walk, size_t rows,
                            size_t width) {
    q->stride = padded(width, 1);
    q->data = zone(walk, rows, q->stride);
    q->scale = zone(walk, rows, sizeof *q->scale);
    q->zero = zone(walk, rows, sizeof *q->zero);
}

static void walk_zones(struct workspace *w, struct walk *walk,
                       const struct weights *weights) {
    const struct model_config *config = &weights->config;
    place(w, walk, config);
    if (weights->precision == BERT_INT8) {
        place_quantized(&w->narrow, walk, w->rows, (size_t)config->hidden);
        place_quantized(&w->broad, walk, w->feed_rows, (size_t)config->intermediate);
    }
}

enum bert_status workspace_init(struct workspace *workspace,
                                const struct weights *weights, size_t rows,
                                size_t feed_rows, struct bert_error *error) {
    *workspace = (struct workspace){.rows = rows, .feed_rows = feed_rows};
    struct walk sum = {0};
    walk_zones(workspace, &sum, weights);
    if (sum.overflow)
        return error_set(error, BERT_MODEL, "the model's sizes are too large");
    struct walk walk = {.memory = aligned_alloc(LINE, sum.used)};
    if (walk.memory == NULL)
        return error_memory(error);
    walk_zones(workspace, &walk, weights);
    workspace->memory = walk.memory;
    return BERT_OK;
}

void workspace_release(struct workspace *workspace) {
    free(workspace->memory);
    *workspace = (struct workspace){0};
}
