/* SPDX-License-Identifier: MIT
 *
 * avxvnni.c: the table for AVX2 with dot products of bytes. */
#define ISA(operation) avxvnni_##operation

#include "kernel/tables.h"
#include "kernel/vec_avx2.h"

#include "kernel/linear_int8.h"

DEFINE_TABLE(avxvnni, avx2, avxvnni);
