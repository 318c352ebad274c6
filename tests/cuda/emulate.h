/* SPDX-License-Identifier: MIT
 *
 * emulate.h: enough of CUDA to run the plug-in's own source on the host. A block's
 * threads are coroutines of one thread that hand over at barriers and shuffles, so a
 * missing barrier shows as a wrong answer and a barrier that some threads skip as a stop
 * with a message. Fragments of wmma hold the whole tile in a warp's first lane, and their
 * loads and stores are no barriers.
 * Memory of "the device" comes from malloc, so the address sanitizer watches it. */
#ifndef TESTS_CUDA_EMULATE_H
#define TESTS_CUDA_EMULATE_H

#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <functional>
#include <memory>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __shared__ static thread_local
#define __launch_bounds__(...)
#define __align__(n) alignas(n)

#ifdef __SANITIZE_THREAD__
extern "C" {
void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void *fiber);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);
}
#endif

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {
    }
};

/* ---- Threads of a block ---------------------------------------------------------- */

namespace emulation {
enum { WARP = 32, STACK = 128 * 1024 };
struct lane {
    ucontext_t context;
    jmp_buf jump;
    unsigned index, shuffles;
    bool started, done;
};
/* Of a coroutine; kept between launches. */
struct stack {
    std::unique_ptr<char[]> memory{new char[STACK]};
#ifdef __SANITIZE_THREAD__
    void *fiber = __tsan_create_fiber(0);
    ~stack() {
        __tsan_destroy_fiber(fiber);
    }
#endif
};
inline std::vector<std::unique_ptr<stack>> &stacks() {
    static thread_local std::vector<std::unique_ptr<stack>> all;
    return all;
}
struct block {
    std::vector<lane> lanes;
    std::vector<unsigned> warp_waiting, warp_round;
    std::vector<uint64_t> exchange[2]; /* a slot a lane, for shuffles in turn */
    std::vector<char> shared;
    unsigned waiting = 0, round = 0, running = 0;
    ucontext_t scheduler;
    jmp_buf scheduler_jump;
#ifdef __SANITIZE_THREAD__
    void *fiber = __tsan_get_current_fiber(); /* the scheduler's */
#endif
    lane *current = nullptr;
    std::function<void()> body;
};
inline block *&now() {
    static thread_local block *b;
    return b;
}
/* A coroutine is entered through its context; from then on control moves by _longjmp,
 * which, unlike swapcontext, stays out of the kernel. The sanitizers cannot follow that,
 * so under them contexts do it all. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
inline void hand_over() {
    block *b = now();
#ifdef __SANITIZE_THREAD__
    __tsan_switch_to_fiber(b->fiber, 0);
#endif
    swapcontext(&b->current->context, &b->scheduler);
}
inline void resume(lane &l) {
#ifdef __SANITIZE_THREAD__
    __tsan_switch_to_fiber(stacks()[l.index]->fiber, 0);
#endif
    swapcontext(&now()->scheduler, &l.context);
}
#else
inline void hand_over() {
    block *b = now();
    if (_setjmp(b->current->jump) == 0)
        _longjmp(b->scheduler_jump, 1);
}
inline void resume(lane &l) {
    if (_setjmp(now()->scheduler_jump) != 0)
        return;
    if (l.started)
        _longjmp(l.jump, 1);
    l.started = true;
    setcontext(&l.context);
}
#endif
inline void entry() {
    block *b = now();
    b->body();
    b->current->done = true;
    hand_over();
}
inline void block_barrier() {
    block *b = now();
    unsigned round = b->round;
    if (++b->waiting == b->lanes.size()) {
        b->waiting = 0;
        b->round++;
        return;
    }
    while (b->round == round)
        hand_over();
}
inline void warp_barrier() {
    block *b = now();
    unsigned w = b->current->index / WARP, round = b->warp_round[w];
    unsigned size = (unsigned)b->lanes.size() - w * WARP;
    if (++b->warp_waiting[w] == (size < WARP ? size : (unsigned)WARP)) {
        b->warp_waiting[w] = 0;
        b->warp_round[w]++;
        return;
    }
    while (b->warp_round[w] == round)
        hand_over();
}
} // namespace emulation

static thread_local dim3 gridDim, blockDim, blockIdx;
struct emulated_thread_index {
    struct axis {
        operator unsigned() const {
            return emulation::now()->current->index;
        }
    } x;
};
static emulated_thread_index threadIdx; /* blocks are one-dimensional here */

template <class Body>
void emulate_kernel(dim3 grid, unsigned threads, size_t shared, Body body) {
    using namespace emulation;
    block b;
    b.lanes.resize(threads);
    b.warp_waiting.assign((threads + WARP - 1) / WARP, 0);
    b.warp_round.assign((threads + WARP - 1) / WARP, 0);
    for (auto &exchange : b.exchange)
        exchange.resize(threads);
    b.shared.resize(shared + 128);
    b.body = body;
    now() = &b;
    gridDim = grid;
    blockDim = dim3(threads);
    while (stacks().size() < threads)
        stacks().emplace_back(new stack);
    for (unsigned y = 0; y < grid.y; y++)
        for (unsigned x = 0; x < grid.x; x++) {
            blockIdx = dim3(x, y);
            memset(b.shared.data(), 0xa5, b.shared.size());
            b.waiting = 0;
            for (unsigned i = 0; i < threads; i++) {
                lane &l = b.lanes[i];
                l.index = i;
                l.shuffles = 0;
                l.started = l.done = false;
                getcontext(&l.context);
                l.context.uc_stack.ss_sp = stacks()[i]->memory.get();
                l.context.uc_stack.ss_size = STACK;
                l.context.uc_link = nullptr;
                makecontext(&l.context, entry, 0);
            }
            unsigned left = threads, idle = 0;
            while (left > 0) {
                unsigned before = left, round = b.round;
                std::vector<unsigned> warps = b.warp_round;
                for (lane &l : b.lanes) {
                    if (l.done)
                        continue;
                    b.current = &l;
                    resume(l);
                    left -= l.done;
                }
                idle = before == left && round == b.round && warps == b.warp_round
                           ? idle + 1
                           : 0;
                if (idle > 1) {
                    fprintf(stderr, "emulate: a barrier that not all threads reach\n");
                    abort();
                }
            }
        }
    now() = nullptr;
}

#define LAUNCH(kernel, grid, threads, shared, stream, ...) \
    emulation::launch(stream, grid, threads, shared, [=] { kernel(__VA_ARGS__); })
static inline char *emulated_shared() {
    return (char *)(((uintptr_t)emulation::now()->shared.data() + 127) & ~(uintptr_t)127);
}
#define DYNAMIC_SHARED(name) char *name = emulated_shared()

static inline void __syncthreads() {
    emulation::block_barrier();
}
static inline void __syncwarp() {
    emulation::warp_barrier();
}
template <class T> T emulated_shuffle(T value, unsigned from) {
    emulation::block *b = emulation::now();
    unsigned me = b->current->index;
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    auto &exchange = b->exchange[b->current->shuffles++ % 2];
    exchange[me] = bits;
    emulation::warp_barrier();
    unsigned base = me / 32 * 32, source = base + from % 32;
    T result;
    memcpy(&result, &exchange[source < exchange.size() ? source : me], sizeof result);
    return result;
}
template <class T> T __shfl_xor_sync(unsigned, T value, int mask) {
    return emulated_shuffle(value, (threadIdx.x % 32) ^ (unsigned)mask);
}

/* ---- Numbers --------------------------------------------------------------------- */

extern "C" float half_to_float(uint16_t half);
extern "C" uint16_t float_to_half(float value);
struct __half {
    uint16_t bits;
};
typedef __half half;
static inline float __half2float(half h) {
    return half_to_float(h.bits);
}
static inline half __float2half_rn(float f) {
    return half{float_to_half(f)};
}
#define __expf expf

namespace nvcuda {
namespace wmma {
struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };
template <class Use, int M, int N, int K, class T, class Layout = void> struct fragment {
    T tile[16][16];
};
template <class F> void fill_fragment(F &f, float value) {
    for (auto &row : f.tile)
        for (auto &x : row)
            x = value;
}
template <class U, class T>
void load_matrix_sync(fragment<U, 16, 16, 16, T, row_major> &f, const T *p, unsigned ld) {
    if (threadIdx.x % 32 != 0)
        return;
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++)
            f.tile[i][j] = p[i * ld + j];
}
template <class U, class T>
void load_matrix_sync(fragment<U, 16, 16, 16, T, col_major> &f, const T *p, unsigned ld) {
    if (threadIdx.x % 32 != 0)
        return;
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++)
            f.tile[j][i] = p[i * ld + j];
}
template <class A, class B, class C>
void mma_sync(C &d, const A &a, const B &b, const C &c) {
    if (threadIdx.x % 32 != 0)
        return;
    float x[16][16], y[16][16];
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++)
            x[i][j] = __half2float(a.tile[i][j]), y[i][j] = __half2float(b.tile[i][j]);
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) {
            float sum = c.tile[i][j];
            for (int k = 0; k < 16; k++)
                sum += x[i][k] * y[k][j];
            d.tile[i][j] = sum;
        }
}
template <class F> void store_matrix_sync(float *p, const F &f, unsigned ld, layout_t) {
    if (threadIdx.x % 32 != 0)
        return;
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++)
            p[i * ld + j] = f.tile[i][j];
}
} // namespace wmma
} // namespace nvcuda

#include "emulated_runtime.h"

#endif
