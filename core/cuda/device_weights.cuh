/* SPDX-License-Identifier: MIT
 *
 * device_weights.cuh: a model's weights on the device: matrices and tables as half
 * (int8 files are widened), vectors as float. */
#ifndef CUDA_DEVICE_WEIGHTS_CUH
#define CUDA_DEVICE_WEIGHTS_CUH

#include "cuda/kernels.cuh"

struct device_linear {
    half *weight; /* (out, in) */
    float *bias;
    half *half_bias;
    int in, out;
};

struct device_layer {
    struct device_linear query_key_value, attention_output, up, down;
    struct device_norm attention_norm, output_norm;
};

struct device_weights {
    struct model_config config;
    half *word, *position, *type;
    struct device_norm embedding_norm, transform_norm;
    struct device_layer *layers;
    struct device_linear transform, decoder; /* decoder.weight may be word */
    char *block; /* all of it; a granule of 2 MB for each matrix would waste 40 MB */
    size_t size;
};

/* Copies weights to the current device. On failure what was copied is freed. */
enum bert_status device_weights_new(struct device_weights **result,
                                    const struct weights *weights,
                                    struct bert_error *error);
void device_weights_free(struct device_weights *weights);

#endif
