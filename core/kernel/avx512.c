/* SPDX-License-Identifier: MIT
 *
 * avx512.c: the table for AVX-512 (F, BW, DQ, VL). Without its dot products of bytes,
 * int8 layers widen to 16 bits. */
#define ISA(operation) avx512_##operation

#include "kernel/tables.h"
#include "kernel/vec_avx512.h"

#include "kernel/attention.h"
#include "kernel/linear_float.h"
#include "kernel/linear_int8.h"
#include "kernel/row_ops.h"

DEFINE_TABLE(avx512, avx512, avx512);
