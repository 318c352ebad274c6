/* SPDX-License-Identifier: MIT
 *
 * neon.c: the table for every 64-bit ARM. */
#define ISA(operation) neon_##operation

#include "kernel/tables.h"
#include "kernel/vec_neon.h"

#include "kernel/attention.h"
#include "kernel/linear_float.h"
#include "kernel/linear_int8.h"
#include "kernel/row_ops.h"

DEFINE_TABLE(neon, neon, neon);
