/* SPDX-License-Identifier: MIT
 *
 * amx.c: the table for the tile unit: 16 rows of 64 bytes times 16 groups of a weight
 * panel, which lies as the unit wants it. Tiles of C hold two times 16 rows by two
 * panels. Not measured: no machine with tiles was at hand. test_kernel_amx.c runs it on
 * emulated tiles. */
#define ISA(operation) amx_##operation

#include "base/cpu.h"
#include "kernel/ahead.h"
#include "kernel/tables.h"
#include "kernel/vec_avx512.h"

#include "kernel/finish_int8.h"

enum { TILE_ROWS = 16, TILE_BYTES = 64, TILE_GROUPS = 16 };

struct tile_config { /* as the instruction wants it */
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

/* Tiles 0-3 are sums, row tile by panel; 4 and 5 inputs; 6 and 7 weights. */
static void configure(size_t rows) {
    struct tile_config config = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        config.row_bytes[i] = TILE_BYTES;
        config.rows[i] = (uint8_t)(i < 6 ? rows : TILE_GROUPS);
    }
    _tile_loadconfig(&config);
}

struct amx_block { /* two panels at most, for up to two tiles of rows */
    const uint8_t *x[2];
    const int8_t *w[2];
    size_t stride, groups, rows, panels; /* rows: tiles of them */
    struct ahead *ahead;
};

/* The weights of one step of 64 inputs. At the end of a panel the missing groups are
 * zeros in a copy. */
static const int8_t *step_weights(const struct amx_block *b, size_t panel, size_t group,
                                  int8_t *copy) {
    const int8_t *w = b->w[panel] + group * 64;
    size_t left = b->groups - group;
    if (left >= TILE_GROUPS)
        return w;
    memset(copy, 0, TILE_GROUPS * 64);
    memcpy(copy, w, left * 64);
    return copy;
}

static void multiply(const struct amx_block *b) {
    _Alignas(64) int8_t copy[2][TILE_GROUPS * 64];
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (size_t g = 0; g < b->groups; g += TILE_GROUPS) {
        for (size_t i = 0; i < TILE_GROUPS; i++)
            ahead_step(b->ahead);
        _tile_loadd(6, step_weights(b, 0, g, copy[0]), 64);
        _tile_loadd(4, b->x[0] + g * 4, b->stride);
        _tile_dpbusd(0, 4, 6);
        if (b->panels == 2) {
            _tile_loadd(7, step_weights(b, 1, g, copy[1]), 64);
            _tile_dpbusd(1, 4, 7);
        }
        if (b->rows == 2) {
            _tile_loadd(5, b->x[1] + g * 4, b->stride);
            _tile_dpbusd(2, 5, 6);
            if (b->panels == 2)
                _tile_dpbusd(3, 5, 7);
        }
    }
}

/* The sums of both row tiles, each (16, panels) of 16. */
static void store_sums(const struct amx_block *b, vint (*sums)[TILE_ROWS * 2]) {
    size_t stride = b->panels * 64;
    _tile_stored(0, &sums[0][0], stride);
    if (b->panels == 2)
        _tile_stored(1, &sums[0][1], stride);
    if (b->rows == 2) {
        _tile_stored(2, &sums[1][0], stride);
        if (b->panels == 2)
            _tile_stored(3, &sums[1][1], stride);
    }
}

/* All rows of one or two panels from output o on. The last tile of rows is moved back to
 * be a whole one; what an earlier tile has finished is not finished again, since a
 * residual may be the output itself. */
static void panels_run(const struct linear_job *job, size_t o, size_t end, size_t tile,
                       struct amx_block *b) {
    vint sums[2][TILE_ROWS * 2];
    for (size_t r = 0; r < job->rows; r += 2 * tile) {
        size_t from[2] = {r, r + tile};
        b->rows = r + tile < job->rows ? 2 : 1;
        for (size_t i = 0; i < b->rows; i++) {
            if (from[i] + tile > job->rows)
                from[i] = job->rows - tile;
            b->x[i] = job->q.data + from[i] * job->q.stride;
        }
        multiply(b);
        store_sums(b, sums);
        for (size_t i = 0; i < b->rows; i++) {
            size_t skip = r + i * tile - from[i];
            int8_finish(job, r + i * tile, o, end, tile - skip, b->panels,
                        &sums[i][skip * b->panels]);
        }
    }
}

void amx_linear_int8(const struct linear_job *job, size_t begin, size_t end) {
    if (job->rows == 0)
        return;
    const size_t groups = (job->linear->in + 3) / 4, panel = groups * 64;
    const size_t tile = job->rows < TILE_ROWS ? job->rows : TILE_ROWS;
    const size_t passes = (job->rows + 2 * tile - 1) / (2 * tile);
    configure(tile);
    for (size_t o = begin; o < end; o += 32) {
        struct amx_block b = {.stride = job->q.stride, .groups = groups};
        b.panels = end - o > 16 ? 2 : 1;
        b.w[0] = (const int8_t *)job->linear->weight + o / 16 * panel;
        b.w[1] = b.w[0] + panel;
        struct ahead ahead = ahead_begin(b.w[0] + b.panels * panel, b.panels * panel,
                                         groups * passes);
        b.ahead = &ahead;
        panels_run(job, o, end, tile, &b);
    }
    _tile_release();
}

DEFINE_TABLE(amx, avx512, amx);
