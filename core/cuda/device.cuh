/* SPDX-License-Identifier: MIT
 *
 * device.cuh: the CUDA that the plug-in is written in. Compiled by nvcc it is CUDA's own;
 * compiled by a host compiler the same source runs over the emulation that the tests
 * bring (emulate.h on the include path). */
#ifndef CUDA_DEVICE_CUH
#define CUDA_DEVICE_CUH

extern "C" {
#include "base/status.h"
}

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __CUDACC__
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>
#define LAUNCH(kernel, grid, threads, shared, stream, ...) \
    kernel<<<grid, threads, shared, stream>>>(__VA_ARGS__)
#define DYNAMIC_SHARED(name) extern __shared__ __align__(128) char name[]
#else
#include "emulate.h"
#endif

#ifndef ZONE_GAP /* what the emulation puts behind each zone */
#define ZONE_GAP 0
#define ZONE_END(end, gap) ((void)0)
#endif

/* One zone of a block of device memory, aligned as an allocation of its own would be; *at
 * moves on. NULL while base is: the first walk over the zones measures the block. */
static inline void *place_zone(char *base, size_t *at, size_t count, size_t size) {
    char *zone = base == NULL ? NULL : base + *at;
    size_t room = (count * size + 255) / 256 * 256;
    if (zone != NULL)
        ZONE_END(zone + room, ZONE_GAP);
    *at += room + ZONE_GAP;
    return zone;
}

/* Leaves the function with a message that names the call when it fails. */
#define CUDA_TRY(call, error)                                             \
    do {                                                                  \
        cudaError_t code_ = (call);                                       \
        if (code_ != cudaSuccess)                                         \
            return error_set(error, BERT_INTERNAL, "CUDA: %s: %s", #call, \
                             cudaGetErrorString(code_));                  \
    } while (0)

#define STATUS_TRY(call)                   \
    do {                                   \
        enum bert_status status_ = (call); \
        if (status_ != BERT_OK)            \
            return status_;                \
    } while (0)

#endif
