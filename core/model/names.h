/* SPDX-License-Identifier: MIT
 *
 * names.h: the names that people's files give to the parts of a BERT, and ours: those of
 * Hugging Face's BertForMaskedLM. */
#ifndef MODEL_NAMES_H
#define MODEL_NAMES_H

#include <stdbool.h>
#include <stddef.h>

enum part {
    PART_WORD,
    PART_POSITION,
    PART_TYPE,
    PART_EMBEDDING_NORM_WEIGHT,
    PART_EMBEDDING_NORM_BIAS,
    PART_TRANSFORM_WEIGHT,
    PART_TRANSFORM_BIAS,
    PART_TRANSFORM_NORM_WEIGHT,
    PART_TRANSFORM_NORM_BIAS,
    PART_DECODER_WEIGHT,
    PART_DECODER_BIAS,
    PART_HEAD_BIAS, /* cls.predictions.bias; decoder.bias is tied to it */
    PART_LAYER,     /* those of a layer from here */
    PART_QUERY_WEIGHT = PART_LAYER,
    PART_QUERY_BIAS,
    PART_KEY_WEIGHT,
    PART_KEY_BIAS,
    PART_VALUE_WEIGHT,
    PART_VALUE_BIAS,
    PART_ATTENTION_OUTPUT_WEIGHT,
    PART_ATTENTION_OUTPUT_BIAS,
    PART_ATTENTION_NORM_WEIGHT,
    PART_ATTENTION_NORM_BIAS,
    PART_UP_WEIGHT,
    PART_UP_BIAS,
    PART_DOWN_WEIGHT,
    PART_DOWN_BIAS,
    PART_OUTPUT_NORM_WEIGHT,
    PART_OUTPUT_NORM_BIAS,
    PARTS
};

struct slot {
    int layer; /* -1 for the parts that are in no layer */
    enum part part;
};

enum { NAME_SIZE = 128 };

/* Understands the prefixes bert., module. and none, LayerNorm's gamma and beta, and the
 * names of TensorFlow checkpoints, whose dense kernels are (in, out): *transposed. false:
 * no part of an encoder with masked-LM head (pooler, optimizer, position_ids). */
bool names_find(const char *name, struct slot *slot, bool *transposed);

/* The name of Hugging Face. */
void names_format(struct slot slot, char name[NAME_SIZE]);

/* A tensor of an int8 model.bert: the field (weight, scale, sum, bias, quant) of the
 * linear layer or norm that this weight part belongs to. PART_QUERY_WEIGHT stands for
 * queries, keys and values fused: ...attention.self.query_key_value.FIELD. */
void names_field(struct slot weight, const char *field, char name[NAME_SIZE]);

int names_compare(struct slot a, struct slot b);

#endif
