/* SPDX-License-Identifier: MIT
 *
 * avx2.c: the table for AVX2 with FMA and F16C. Its int8 layers widen to 16 bits: the
 * instruction that multiplies bytes saturates. */
#define ISA(operation) avx2_##operation

#include "kernel/tables.h"
#include "kernel/vec_avx2.h"

#include "kernel/attention.h"
#include "kernel/linear_float.h"
#include "kernel/linear_int8.h"
#include "kernel/row_ops.h"

DEFINE_TABLE(avx2, avx2, avx2);
