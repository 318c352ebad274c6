# SPDX-License-Identifier: MIT
# The CUDA plug-in (make cuda: needs nvcc 12 or 13) and its source over the host emulation
# (make cuda-emulated: needs a C++ compiler). The plain build uses none of this.

NVCC ?= nvcc
CXX ?= g++
cuda_src := $(wildcard core/cuda/*.cu)
cuda_helpers := core/base/status.c core/base/utf8.c core/base/bytes.c \
    core/nn/backend_check.c
cuda_arches := 75 80 86 89 90
cuda_flags := -std=c++20 -O3 -Icore --threads 2 -lineinfo \
    $(foreach a,$(cuda_arches),-gencode arch=compute_$a,code=sm_$a) \
    -gencode arch=compute_$(lastword $(cuda_arches)),code=compute_$(lastword $(cuda_arches)) \
    -Xcompiler -fPIC,-fvisibility=hidden,-pthread,-Wall

cuda: $(B)/bert-cuda.so

$(B)/core/cuda/%.o: core/cuda/%.cu $(wildcard core/cuda/*.cuh) $(B)/generated/flags
	@mkdir -p $(@D)
	$(say) NVCC $<
	$(quiet)$(NVCC) $(cuda_flags) -c $< -o $@

$(B)/pic/%.o: %.c $(B)/generated/flags
	@mkdir -p $(@D)
	$(say) CC $<
	$(quiet)$(CC) $(required) $(CFLAGS) -fPIC -fvisibility=hidden -MMD -MP -c $< -o $@

$(B)/bert-cuda.so: $(cuda_src:%.cu=$(B)/%.o) $(cuda_helpers:%.c=$(B)/pic/%.o) core/cuda/exports.map
	$(say) LINK $@
	$(quiet)$(NVCC) -shared -cudart static $(filter %.o,$^) -o $@ \
	    -Xlinker --version-script=core/cuda/exports.map -lcublasLt

install-cuda: $(B)/bert-cuda.so
	$(call put,$(B)/bert-cuda.so|$(libdir)/bert-tools|755)

# The same source over the emulation: in a test, and as a plug-in that the programs open.
emulated_obj := $(patsubst core/cuda/%.cu,$(B)/emulated/%.o, \
    $(filter-out core/cuda/gemm.cu,$(cuda_src))) \
    $(B)/emulated/gemm_host.o $(B)/emulated/emulated_device.o
emulated_flags = -std=c++20 -Icore -Itests/cuda -pthread -fPIC -fno-strict-aliasing -Wall \
    -Wextra -Wno-unused-parameter -Wno-missing-field-initializers -Wno-clobbered \
    -Wno-unknown-pragmas $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all)
emulated = $(quiet)$(CXX) $(emulated_flags) $(CFLAGS) -x c++ -c $< -o $@

$(emulated_obj) $(B)/emulated/test_cuda.o: $(wildcard core/cuda/*.cuh tests/cuda/*.h) \
    $(B)/generated/flags
$(B)/emulated/%.o: core/cuda/%.cu
	@mkdir -p $(@D)
	$(say) C++ $<
	$(emulated)
$(B)/emulated/%.o: tests/cuda/%.cpp
	@mkdir -p $(@D)
	$(say) C++ $<
	$(emulated)

$(B)/tests/cuda_emulated: $(emulated_obj) $(B)/emulated/test_cuda.o $(B)/libbert.a
	@mkdir -p $(@D)
	$(say) LINK $@
	$(quiet)$(CXX) $(emulated_flags) $(LDFLAGS) $^ -o $@ $(ldlibs) $(check_libs)

$(B)/emulated/bert-cuda.so: $(emulated_obj) $(cuda_helpers:%.c=$(B)/pic/%.o)
	$(say) LINK $@
	$(quiet)$(CXX) $(emulated_flags) $(LDFLAGS) -shared $^ -o $@

cuda-emulated: $(B)/tests/cuda_emulated $(B)/emulated/bert-cuda.so

.PHONY: cuda install-cuda cuda-emulated
