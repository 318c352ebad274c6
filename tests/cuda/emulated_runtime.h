/* SPDX-License-Identifier: MIT
 *
 * emulated_runtime.h: the emulated CUDA runtime. What is put into a stream waits there
 * until the host waits for it, so a result that is read too soon, or a buffer that is
 * refilled too soon, shows as a wrong answer. A captured stream records and runs nothing;
 * a graph replays what was recorded with the arguments of that time. What a real capture
 * forbids is an error here and breaks the capture. */
#ifndef TESTS_CUDA_EMULATED_RUNTIME_H
#define TESTS_CUDA_EMULATED_RUNTIME_H

#include <atomic>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define ZONE_GAP 256
#define ZONE_END(end, gap) ASAN_POISON_MEMORY_REGION(end, gap)
#endif

typedef int cudaError_t;
enum {
    cudaSuccess = 0,
    cudaErrorMemoryAllocation = 2,
    cudaErrorNoDevice = 100,
    cudaErrorStreamCaptureUnsupported = 900,
    cudaErrorStreamCaptureInvalidated = 901,
    cudaErrorUnknown = 999
};
enum { cudaStreamNonBlocking = 1, cudaStreamCaptureModeThreadLocal = 1 };
enum { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };
enum { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
enum { cudaDevAttrMaxSharedMemoryPerBlockOptin = 97 };
struct cudaDeviceProp {
    char name[256];
    int major, minor;
    size_t totalGlobalMem;
};

namespace emulation {
typedef std::vector<std::function<void()>> work;
struct stream {
    work queue;
    bool capturing = false, broken = false;
    work captured;
};

/* What tests set, and the plug-in made for them reads from $EMULATED_CUDA, a list like
 * "driver=12040 syncs=9". */
struct device {
    std::atomic<long> allocations{-1}; /* that still succeed; negative: all */
    std::atomic<long> syncs{-1};       /* after which the device is lost; likewise */
    std::atomic<long> captures{-1};    /* that still succeed; likewise */
    std::atomic<long> launches{0};     /* of graphs, counted */
    std::atomic<size_t> held{0};       /* bytes of device memory */
    std::atomic<size_t> room{SIZE_MAX};
    int driver = 13000, devices = 1, major = 9;
    size_t available = (size_t)1 << 34;
};
extern device state;

/* Counts one of a number of permitted events; false when none is left. */
inline bool permitted(std::atomic<long> &left) {
    if (left < 0)
        return true;
    if (left == 0)
        return false;
    left--;
    return true;
}
inline bool lost() {
    return state.syncs == 0;
}
inline stream *&capturing() { /* by this thread */
    static thread_local stream *s;
    return s;
}
inline cudaError_t &last_error() {
    static thread_local cudaError_t e;
    return e;
}
inline cudaError_t result(cudaError_t e) {
    if (e != cudaSuccess)
        last_error() = e;
    return e;
}
/* What may not happen while this thread captures. */
inline bool forbidden() {
    if (capturing() != nullptr)
        capturing()->broken = true;
    return capturing() != nullptr;
}
inline void enqueue(stream *s, std::function<void()> what) {
    if (s == nullptr)
        what();
    else
        (s->capturing ? s->captured : s->queue).push_back(std::move(what));
}
template <class Body>
void launch(stream *s, dim3 grid, unsigned threads, size_t shared, Body body) {
    enqueue(s, [=] { emulate_kernel(grid, threads, shared, body); });
}
} // namespace emulation

typedef emulation::stream *cudaStream_t;
typedef emulation::work *cudaGraph_t, *cudaGraphExec_t;

static inline const char *cudaGetErrorString(cudaError_t e) {
    return e == cudaSuccess                         ? "no error"
           : e == cudaErrorMemoryAllocation         ? "out of memory"
           : e == cudaErrorNoDevice                 ? "no CUDA-capable device is detected"
           : e == cudaErrorStreamCaptureUnsupported ? "not permitted while capturing"
           : e == cudaErrorStreamCaptureInvalidated ? "the capture is broken"
                                                    : "device lost";
}
static inline cudaError_t cudaGetLastError() {
    cudaError_t e = emulation::last_error();
    emulation::last_error() = cudaSuccess;
    return emulation::lost() ? (cudaError_t)cudaErrorUnknown : e;
}

/* Device memory begins at 256 bytes, as the real one, behind a block with its size. */
static inline cudaError_t emulated_memory(void **p, size_t size, bool device) {
    using namespace emulation;
    char *block;
    if (forbidden())
        return result(cudaErrorStreamCaptureUnsupported);
    if (!permitted(state.allocations) || (device && state.held + size > state.room) ||
        posix_memalign((void **)&block, 256, size + 256) != 0)
        return result(cudaErrorMemoryAllocation);
    size_t counted = device ? size : 0;
    memcpy(block, &counted, sizeof counted);
    state.held += counted;
    *p = block + 256;
    memset(*p, 0xff, size); /* NaN: what is read before it is written shows */
    return cudaSuccess;
}
static inline cudaError_t emulated_free(void *p) {
    using namespace emulation;
    if (forbidden())
        return result(cudaErrorStreamCaptureUnsupported);
    if (p == nullptr)
        return cudaSuccess;
    size_t counted;
    memcpy(&counted, (char *)p - 256, sizeof counted);
    state.held -= counted;
    free((char *)p - 256);
    return cudaSuccess;
}
template <class T> cudaError_t cudaMalloc(T **p, size_t size) {
    return emulated_memory((void **)p, size, true);
}
template <class T> cudaError_t cudaMallocHost(T **p, size_t size) {
    return emulated_memory((void **)p, size, false);
}
static inline cudaError_t cudaFree(void *p) {
    return emulated_free(p);
}
static inline cudaError_t cudaFreeHost(void *p) {
    return emulated_free(p);
}
static inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, int,
                                          cudaStream_t s) {
    if (emulation::lost())
        return cudaErrorUnknown;
    emulation::enqueue(s, [=] { memcpy(to, from, size); });
    return cudaSuccess;
}

static inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned) {
    *s = new emulation::stream;
    return cudaSuccess;
}
static inline cudaError_t cudaStreamDestroy(cudaStream_t s) {
    delete s;
    return cudaSuccess;
}
static inline cudaError_t cudaStreamSynchronize(cudaStream_t s) {
    using namespace emulation;
    if (forbidden())
        return result(cudaErrorStreamCaptureUnsupported);
    if (s == nullptr)
        return lost() ? (cudaError_t)cudaErrorUnknown : cudaSuccess;
    if (!permitted(state.syncs))
        return cudaErrorUnknown;
    work now;
    now.swap(s->queue);
    for (auto &what : now)
        what();
    return cudaSuccess;
}

static inline cudaError_t cudaStreamBeginCapture(cudaStream_t s, int) {
    s->capturing = true;
    s->broken = false;
    s->captured.clear();
    emulation::capturing() = s;
    return cudaSuccess;
}
static inline cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *g) {
    using namespace emulation;
    capturing() = nullptr;
    s->capturing = false;
    *g = nullptr;
    if (s->broken)
        return result(cudaErrorStreamCaptureInvalidated);
    *g = new work(std::move(s->captured));
    return cudaSuccess;
}
static inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t *e, cudaGraph_t g,
                                               unsigned) {
    if (!emulation::permitted(emulation::state.captures))
        return emulation::result(cudaErrorMemoryAllocation);
    *e = new emulation::work(*g);
    return cudaSuccess;
}
static inline cudaError_t cudaGraphLaunch(cudaGraphExec_t e, cudaStream_t s) {
    emulation::state.launches++;
    for (auto &what : *e)
        emulation::enqueue(s, what);
    return cudaSuccess;
}
static inline cudaError_t cudaGraphDestroy(cudaGraph_t g) {
    delete g;
    return cudaSuccess;
}
static inline cudaError_t cudaGraphExecDestroy(cudaGraphExec_t e) {
    delete e;
    return cudaSuccess;
}

static inline cudaError_t cudaSetDevice(int) {
    return emulation::lost() ? (cudaError_t)cudaErrorUnknown : cudaSuccess;
}
static inline cudaError_t cudaGetDeviceCount(int *n) {
    *n = emulation::state.devices;
    return *n > 0 ? (cudaError_t)cudaSuccess : emulation::result(cudaErrorNoDevice);
}
static inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int) {
    *p = cudaDeviceProp{"emulated", emulation::state.major, 0, (size_t)1 << 34};
    return cudaSuccess;
}
static inline cudaError_t cudaMemGetInfo(size_t *available, size_t *total) {
    *available = emulation::state.available;
    *total = (size_t)1 << 34;
    return cudaSuccess;
}
static inline cudaError_t cudaDriverGetVersion(int *version) {
    *version = emulation::state.driver;
    return cudaSuccess;
}
static inline cudaError_t cudaRuntimeGetVersion(int *version) {
    *version = 13000;
    return cudaSuccess;
}
static inline cudaError_t cudaDeviceGetAttribute(int *value, int, int) {
    *value = 99 * 1024;
    return cudaSuccess;
}
template <class F> cudaError_t cudaFuncSetAttribute(F, int, int) {
    return cudaSuccess;
}

#endif
