/* SPDX-License-Identifier: MIT
 *
 * tables.h: the tables that select.c chooses from, and the operations they are made of,
 * so that a table may borrow another's. Inside kernel/ only. */
#ifndef KERNEL_TABLES_H
#define KERNEL_TABLES_H

#include "kernel/kernel.h"

#define DECLARE_TABLE(isa)                                                           \
    extern const struct kernel_table kernel_##isa;                                   \
    void isa##_linear_f32(const struct linear_job *job, size_t begin, size_t end);   \
    void isa##_linear_f16(const struct linear_job *job, size_t begin, size_t end);   \
    void isa##_linear_int8(const struct linear_job *job, size_t begin, size_t end);  \
    void isa##_layer_norm(const struct norm_job *job, size_t begin, size_t end);     \
    void isa##_quantize(const struct quantize_job *job, size_t begin, size_t end);   \
    void isa##_embed(const struct embed_job *job, size_t begin, size_t end);         \
    void isa##_attention(const struct attention_job *job, size_t begin, size_t end); \
    float isa##_maximum(const float *x, size_t n);                                   \
    float isa##_exp_sum(const float *x, size_t n, float maximum)

/* A table whose float operations are those of isa and whose int8 layers are another's. */
#define DEFINE_TABLE(table, isa, int8)           \
    const struct kernel_table kernel_##table = { \
        .name = #table,                          \
        .linear_f32 = isa##_linear_f32,          \
        .linear_f16 = isa##_linear_f16,          \
        .linear_int8 = int8##_linear_int8,       \
        .layer_norm = isa##_layer_norm,          \
        .quantize = isa##_quantize,              \
        .embed = isa##_embed,                    \
        .attention = isa##_attention,            \
        .maximum = isa##_maximum,                \
        .exp_sum = isa##_exp_sum,                \
    }

DECLARE_TABLE(reference);
float reference_activate(float x, enum activation activation);

DECLARE_TABLE(avx2);
DECLARE_TABLE(avxvnni);
DECLARE_TABLE(avx512);
DECLARE_TABLE(avx512vnni);
DECLARE_TABLE(amx);
DECLARE_TABLE(neon);
DECLARE_TABLE(neondot);

DECLARE_TABLE(blis);
bool blis_available(void); /* the library is installed; loads it */
const char *
blis_family(void); /* the kernels that it chose ("skx"), or why none; static */

#endif
