/* SPDX-License-Identifier: MIT
 *
 * neondot.c: the table for 64-bit ARM with dot products of bytes. */
#define ISA(operation) neondot_##operation

#include "kernel/tables.h"
#include "kernel/vec_neon.h"

#include "kernel/linear_int8.h"

DEFINE_TABLE(neondot, neon, neondot);
