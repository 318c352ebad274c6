/* SPDX-License-Identifier: MIT
 *
 * quantize.h: float weights into the int8 panels of weights.h, and the exact rescalings
 * that make them and their inputs easy to quantise. */
#ifndef MODEL_QUANTIZE_H
#define MODEL_QUANTIZE_H

#include "base/pool.h"
#include "base/status.h"
#include "model/tensor.h"

enum { PANEL = 16, GROUP = 4 };

static inline size_t panel_outputs(size_t out) {
    return (out + PANEL - 1) / PANEL * PANEL;
}
static inline size_t panel_bytes(size_t in, size_t out) {
    return panel_outputs(out) * ((in + GROUP - 1) / GROUP * GROUP);
}

/* Tensors of one width, stacked: y = W·x + b. */
struct stack {
    int count;
    const struct tensor *weights[3];
    size_t in, out;
    const float *bias; /* (out) */
};

/* The input that the layer will get is z, with x = column∘z + shift:
 *   y = (W∘column)·z + (b + W·shift). */
struct rewrite {
    const float *column; /* NULL: 1 */
    const float *shift;  /* NULL: 0 */
    const float *spread; /* the expected size of each z, weighing the errors; NULL: 1 */
};

struct panels {     /* arrays of the caller, zeroed where padded by quantize_linear */
    int8_t *weight; /* panel_bytes(in, out) */
    float *scale;   /* panel_outputs(out) each */
    int32_t *sum;
    float *bias;
};

/* Scales are chosen for the least squared error of each output. BERT_MODEL when a weight
 * is not finite. */
enum bert_status quantize_linear(const struct stack *stack, const struct rewrite *rewrite,
                                 struct pool *pool, struct panels *panels,
                                 struct bert_error *error);

/* squares[j] = the mean of W[o][j]² over the outputs. */
enum bert_status quantize_columns(const struct stack *stack, float *squares,
                                  struct bert_error *error);
/* squares[o - from] = Σ_j (W[o][j]·column[j])² for o in from..out. */
enum bert_status quantize_rows(const struct stack *stack, size_t from,
                               const float *column, float *squares,
                               struct bert_error *error);

#endif
