/* SPDX-License-Identifier: MIT
 *
 * weights.h: a BERT with masked-LM head as the kernels read it. Pointers lead into a file
 * mapping or into memory of the loader; struct weights owns neither. */
#ifndef MODEL_WEIGHTS_H
#define MODEL_WEIGHTS_H

#include "bert.h"

#include <stddef.h>
#include <stdint.h>

enum activation { ACTIVATION_NONE, ACTIVATION_GELU /* erf */, ACTIVATION_GELU_TANH };

struct model_config {
    int layers, hidden, heads, intermediate, vocabulary, positions, types;
    float epsilon; /* of LayerNorm; default 1e-12 */
    enum activation activation;
};

/* y = x · wᵀ + bias, w is (out, in).
 * BERT_F32, BERT_F16: weight is row-major float or binary16.
 * BERT_INT8: weight is int8 in panels [⌈out/16⌉][⌈in/4⌉][16][4] (panel, group of four
 *   inputs, output in the panel, input in the group), zero-padded, 64-byte aligned;
 *   w[o][k] = scale[o] * q[o][k], |q| <= 127; sum[o] = Σ_k q[o][k]. scale, sum and bias
 * have ⌈out/16⌉*16 entries, the padding zero. The input it multiplies is quantised
 * (kernel.h). The bias includes W·β where the input is a LayerNorm output quantised
 * without β. */
struct linear {
    enum bert_precision precision;
    size_t in, out;
    const void *weight;
    const float *bias;
    const float *scale; /* int8 only */
    const int32_t *sum; /* int8 only */
};

struct table { /* (rows, width) row-major: float or binary16 */
    enum bert_precision precision;
    size_t rows, width;
    const void *data;
};

/* quant[j] (int8 models; NULL otherwise) multiplies the normalised value before it is
 * quantised for the next linear layers, whose columns hold γ[j]/quant[j] and whose bias
 * holds W·β. So quantised input = normalised * quant, residual = normalised * γ + β. */
struct norm {
    const float *gamma, *beta, *quant;
};

struct layer {
    struct linear query_key_value; /* out = 3 * hidden: queries, keys, values */
    struct linear attention_output;
    struct norm attention_norm;
    struct linear up, down;
    struct norm output_norm;
};

struct weights {
    struct model_config config;
    enum bert_precision precision;
    struct table word, position, type; /* type: row 0 is used */
    struct norm embedding_norm;
    struct layer *layers;    /* config.layers */
    struct linear transform; /* head: f32 or f16, also in int8 models */
    struct norm transform_norm;
    struct linear decoder; /* (vocabulary, hidden), often the word table; f32 or f16 */
};

#endif
