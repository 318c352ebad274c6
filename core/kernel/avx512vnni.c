/* SPDX-License-Identifier: MIT
 *
 * avx512vnni.c: the table for AVX-512 with dot products of bytes. */
#define ISA(operation) avx512vnni_##operation

#include "kernel/tables.h"
#include "kernel/vec_avx512.h"

#include "kernel/linear_int8.h"

DEFINE_TABLE(avx512vnni, avx512, avx512vnni);
