/* SPDX-License-Identifier: MIT
 *
 * linear_float.h: dot products by tiles of up to 3 rows and TILE_OUTPUTS outputs, each
 * with its 16 partial sums in registers over all inputs, and the float linear layers made
 * of them. Included once by each table's file, which defines ISA(operation) as its name.
 *
 * Loops, outermost first: rows that fit half of L2; 16 outputs, finished together; 8 of
 * them, whose weights over BLOCK_INPUTS stay in L1 (and are widened there when they are
 * halves) while all rows pass by; tiles. Longer rows carry their partial sums along.
 * Memory must never rest: each step fetches its share of the weights of the next
 * outputs, 8 or of halves 16, so that the streams are long enough. */
#ifndef KERNEL_LINEAR_FLOAT_H
#define KERNEL_LINEAR_FLOAT_H

#include "base/cpu.h"
#include "kernel/ahead.h"
#include "kernel/lanes.h"
#include "kernel/walk.h"

enum {
    TILE_ROWS = 3,
    TILE_SUMS = 24, /* at most */
    BLOCK_ROWS = 192,
    BLOCK_OUTPUTS = 8,
    BLOCK_INPUTS = 1024
};
enum { COLUMNS = BLOCK_OUTPUTS / TILE_OUTPUTS };
enum { WIDE_STRIDE = BLOCK_INPUTS + 16 }; /* rows in different sets of the cache */

/* dots (rows, outputs) = x (rows, n) · w (outputs, n)ᵀ, some of the inputs */
struct block {
    const float *x;
    size_t x_stride;
    const float *w;
    const uint16_t *halves; /* in place of w, for tiles that widen themselves */
    size_t w_stride, n;
    float *dots;
    size_t dots_stride;
    /* Partial sums, unless these inputs are first and last. */
    v16 (*carry)[BLOCK_OUTPUTS];
    bool first, last;
    struct ahead *ahead; /* for tiles that fetch */
};

enum { PLAIN_TILE = 0, FETCH = 1, HALVES = 2 }; /* how a tile gets its weights */

INLINE vreg step_weight(const struct walk *w, int output, int part, int mode) {
    int lane = part * V_LANES;
    return mode & HALVES ? r_load_half(walk_at(w, output, lane * (int)sizeof(uint16_t)))
                         : r_load(walk_at(w, output, lane * (int)sizeof(float)));
}

/* One step: 16 inputs. Part by part, to hold few registers: those of what there is less
 * of, rows or outputs, while the others come by. */
INLINE void tile_step(v16 *s, const struct walk *x, const struct walk *w, int rows,
                      int outputs, int mode) {
    vreg held[TILE_ROWS];
    if (rows > TILE_ROWS) { /* a tall tile, of whole registers */
        EACH (j, outputs)
            held[j] = step_weight(w, j, 0, mode);
        EACH (i, rows) {
            vreg a = r_keep(r_load(walk_at(x, i, 0)));
            EACH (j, outputs)
                s[i * outputs + j].r[0] = r_fma(a, held[j], s[i * outputs + j].r[0]);
        }
        return;
    }
    EACH (p, V_PARTS) {
        EACH (i, rows)
            held[i] = r_load(walk_at(x, i, p * V_LANES * (int)sizeof(float)));
        EACH (j, outputs) {
            vreg c = step_weight(w, j, p, mode);
            if (rows > 1)
                c = r_keep(c); /* or each fma would load it again */
            EACH (i, rows)
                s[i * outputs + j].r[p] = r_fma(held[i], c, s[i * outputs + j].r[p]);
        }
    }
}

/* The end of a row: n < 16 inputs. */
INLINE void tile_tail(v16 *s, const struct block *b, const float *x, size_t at, size_t n,
                      int rows, int outputs, int mode) {
    EACH (j, outputs) {
        size_t from = at + (size_t)j * b->w_stride;
        v16 c = mode & HALVES ? v_load_half_part(b->halves + from, n)
                              : v_load_part(b->w + from, n);
        EACH (i, rows)
            s[i * outputs + j] =
                v_fma(v_load_part(x + (size_t)i * b->x_stride, n), c, s[i * outputs + j]);
    }
}

/* The sums of a row fold side by side; in a tall tile those of an output. */
INLINE void tile_fold(const v16 *s, float *dots, size_t stride, int rows, int outputs) {
    if (rows <= TILE_ROWS) {
        EACH (i, rows)
            v_fold_many(s + i * outputs, outputs, dots + (size_t)i * stride);
        return;
    }
    EACH (j, outputs) {
        v16 column[TILE_SUMS];
        float sums[TILE_SUMS];
        EACH (i, rows)
            column[i] = s[i * outputs + j];
        v_fold_many(column, rows, sums);
        EACH (i, rows)
            dots[(size_t)i * stride + (size_t)j] = sums[i];
    }
}

INLINE void tile(struct block *b, size_t r, size_t o, int rows, int outputs, int mode) {
    const float *x = b->x + r * b->x_stride;
    const size_t at = o * b->w_stride,
                 size = mode & HALVES ? sizeof(uint16_t) : sizeof(float);
    size_t k = 0;
    struct walk xs = walk_begin(x, b->x_stride * sizeof(float));
    struct walk ws = walk_begin(
        mode & HALVES ? (const void *)(b->halves + at) : b->w + at, b->w_stride * size);
    struct ahead ahead = mode & FETCH ? *b->ahead : (struct ahead){0};
    v16 s[TILE_SUMS];
    EACH (i, rows)
        EACH (j, outputs)
            s[i * outputs + j] =
                b->first ? v_all(0) : b->carry[r + (size_t)i][o + (size_t)j];
    for (; k + 16 <= b->n; k += 16) {
        if (mode & FETCH)
            ahead_step(&ahead);
        tile_step(s, &xs, &ws, rows, outputs, mode);
        walk_on(&xs, rows, 16 * sizeof(float));
        walk_on(&ws, outputs, 16 * size);
    }
    if (mode & FETCH)
        *b->ahead = ahead;
    if (k < b->n)
        tile_tail(s, b, x + k, at + k, b->n - k, rows, outputs, mode);
    if (b->last)
        tile_fold(s, b->dots + r * b->dots_stride + o, b->dots_stride, rows, outputs);
    else
        EACH (i, rows)
            EACH (j, outputs)
                b->carry[r + (size_t)i][o + (size_t)j] = s[i * outputs + j];
}

/* Eight outputs of rows from r on, and their share of what comes next. A strip of rows
 * stays in L1 while the outputs pass by. */
#define TILE_BLOCK(name, mode)                                                    \
    static void name(struct block *b, size_t r, size_t rows) {                    \
        for (; r + 3 <= rows; r += 3)                                             \
            for (size_t o = 0; o < BLOCK_OUTPUTS; o += TILE_OUTPUTS)              \
                tile(b, r, o, 3, TILE_OUTPUTS, mode);                             \
        for (size_t o = 0; r + 2 == rows && o < BLOCK_OUTPUTS; o += TILE_OUTPUTS) \
            tile(b, r, o, 2, TILE_OUTPUTS, mode);                                 \
        for (size_t o = 0; r + 1 == rows && o < BLOCK_OUTPUTS; o += TILE_OUTPUTS) \
            tile(b, r, o, 1, TILE_OUTPUTS, mode);                                 \
    }
TILE_BLOCK(block_fetch, FETCH)
TILE_BLOCK(block_halves_flat, FETCH | HALVES)

/* Widening takes the ports of two multiplications, so that where registers allow it one
 * tile of 8 rows and 3 outputs uses each widened weight 8 times. */
static void block_halves(struct block *b, size_t rows) {
    size_t r = 0;
#if TALL_TILES
    for (; r + 8 <= rows; r += 8) {
        tile(b, r, 0, 8, 3, FETCH | HALVES);
        tile(b, r, 3, 8, 3, FETCH | HALVES);
        tile(b, r, 6, 8, 2, FETCH | HALVES);
    }
#endif
    block_halves_flat(b, r, rows);
}

/* All outputs of a strip of rows. */
#define TILE_STRIP(name, rows)                                    \
    static void name(struct block *b, size_t r, size_t outputs) { \
        size_t o = 0;                                             \
        for (; o + TILE_OUTPUTS <= outputs; o += TILE_OUTPUTS)    \
            tile(b, r, o, rows, TILE_OUTPUTS, PLAIN_TILE);        \
        for (; o + 2 <= outputs; o += 2)                          \
            tile(b, r, o, rows, 2, PLAIN_TILE);                   \
        if (o < outputs)                                          \
            tile(b, r, o, rows, 1, PLAIN_TILE);                   \
    }
TILE_STRIP(strip_1, 1)
TILE_STRIP(strip_2, 2)
TILE_STRIP(strip_3, 3)

/* Any number of outputs; fetches nothing. */
static void block_plain(struct block *b, size_t rows, size_t outputs) {
    size_t r = 0;
    for (; r + 3 <= rows; r += 3)
        strip_3(b, r, outputs);
    if (rows - r == 2)
        strip_2(b, r, outputs);
    else if (rows - r == 1)
        strip_1(b, r, outputs);
}

/* ---- Layers ---------------------------------------------------------------------- */

struct linear_scratch {
    struct ahead ahead;
    _Alignas(64) v16 carry[BLOCK_ROWS][BLOCK_OUTPUTS];
    _Alignas(64) float dots[BLOCK_ROWS][16];
    _Alignas(64) float wide[BLOCK_OUTPUTS][WIDE_STRIDE];
};

static void widen(float (*wide)[WIDE_STRIDE], const uint16_t *w, size_t stride,
                  size_t outputs, size_t n) {
    for (size_t o = 0; o < outputs; o++) {
        const uint16_t *from = w + o * stride;
        size_t k = 0;
        for (; k + 64 <= n; k += 64)
            UNROLL for (size_t i = 0; i < 64; i += 16)
                v_store(&wide[o][k + i], v_load_half(from + k + i));
        for (; k < n; k += 16)
            v_store(&wide[o][k], v_load_half_upto(from + k, n - k));
    }
}

/* Dot products of up to 8 outputs from o on with rows of x. */
static void linear_block(const struct linear *l, const float *x, size_t x_stride,
                         size_t rows, size_t o, size_t outputs, float *dots,
                         struct linear_scratch *s) {
    const bool half = l->precision == BERT_F16, whole = outputs == BLOCK_OUTPUTS;
    const bool wide = half && (rows > 3 * TILE_ROWS || !whole); /* once for all */
    struct block b = {.x_stride = x_stride,
                      .w_stride = wide ? WIDE_STRIDE : l->in,
                      .dots = dots,
                      .dots_stride = 16,
                      .carry = s->carry,
                      .ahead = &s->ahead};
    for (size_t k = 0; k < l->in; k += BLOCK_INPUTS) {
        size_t left = l->in - k, at = o * l->in + k;
        const uint16_t *halves = half ? (const uint16_t *)l->weight + at : NULL;
        b.n = left < BLOCK_INPUTS ? left : BLOCK_INPUTS;
        b.first = k == 0;
        b.last = b.n == left;
        b.x = x + k;
        if (wide)
            widen(s->wide, halves, l->in, outputs, b.n);
        b.halves = wide ? NULL : halves;
        b.w = wide ? s->wide[0] : half ? NULL : (const float *)l->weight + at;
        if (b.halves)
            block_halves(&b, rows);
        else if (whole)
            block_fetch(&b, 0, rows);
        else
            block_plain(&b, rows, outputs);
    }
}

/* Rows that go together: as many as half of L2 holds, in equal shares. */
static size_t rows_together(size_t rows, size_t in) {
    size_t most = cpu_features()->l2_bytes / 2 / (in * sizeof(float));
    most = most > BLOCK_ROWS ? BLOCK_ROWS : most < 24 ? 24 : most;
    size_t shares = (rows + most - 1) / most;
    size_t share = shares ? (rows + shares - 1) / shares : 0;
    return (share + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
}

/* To fetch so many outputs' weights while those from o on are multiplied. */
static struct ahead linear_ahead(const struct linear *l, size_t rows, size_t o,
                                 size_t outputs) {
    size_t tiles = (rows + TILE_ROWS - 1) / TILE_ROWS * COLUMNS;
    size_t bytes = l->in * (l->precision == BERT_F16 ? sizeof(uint16_t) : sizeof(float));
    return ahead_begin((const char *)l->weight + (o + outputs) * bytes, outputs * bytes,
                       (l->in + 15) / 16 * tiles * (outputs / BLOCK_OUTPUTS));
}

static void linear_float(const struct linear_job *job, size_t begin, size_t end) {
    const struct linear *l = job->linear;
    const size_t fetched = l->precision == BERT_F16 ? 16 : 8;
    struct linear_scratch scratch;
    size_t together = rows_together(job->rows, l->in);
    for (size_t first = 0; first < job->rows; first += together) {
        size_t rows = job->rows - first < together ? job->rows - first : together;
        const float *x = job->x + first * job->x_stride;
        for (size_t o = begin; o < end; o += 16) {
            size_t n = end - o < 16 ? end - o : 16;
            for (size_t i = 0; i < n; i += BLOCK_OUTPUTS) {
                if (i % fetched == 0)
                    scratch.ahead = linear_ahead(l, rows, o + i, fetched);
                linear_block(l, x, job->x_stride, rows, o + i,
                             n - i < BLOCK_OUTPUTS ? n - i : BLOCK_OUTPUTS,
                             scratch.dots[0] + i, &scratch);
            }
            v16 bias = v_load_upto(l->bias + o, n);
            for (size_t r = 0; r < rows; r++)
                v_finish(job, first + r, o, n,
                         v_add(v_load_upto(scratch.dots[r], n), bias));
        }
    }
}

void ISA(linear_f32)(const struct linear_job *job, size_t begin, size_t end) {
    linear_float(job, begin, end);
}

void ISA(linear_f16)(const struct linear_job *job, size_t begin, size_t end) {
    linear_float(job, begin, end);
}

#endif
