# SPDX-License-Identifier: MIT
# bert-tools: `make`, `make check`, `make install prefix=/usr/local DESTDIR=`.
# DEVELOPER=1 turns warnings into errors; SANITIZE=address,undefined instruments everything.

prefix ?= /usr/local
bindir ?= $(prefix)/bin
libdir ?= $(prefix)/lib
datadir ?= $(prefix)/share
CC ?= gcc
CFLAGS ?= -O2 -g
B ?= build$(if $(SANITIZE),-$(subst $(comma),-,$(SANITIZE)))
comma := ,

arch := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
libs := libcsv jansson yaml-0.1 utf8proc libzip

required := -std=c11 -D_GNU_SOURCE -Icore -I$(B)/generated -pthread -ffp-contract=off \
    -fno-strict-aliasing -Wall -Wextra -Wvla -Wmissing-prototypes -Wstrict-prototypes \
    -Wwrite-strings -Wno-unused-parameter -Wno-missing-field-initializers \
    -include core/base/banned.h
ifdef DEVELOPER
required += -Werror -Wshadow -Wpointer-arith -Wundef -Wformat=2 -Wno-format-nonliteral
endif
ifdef SANITIZE
required += -fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=all
endif

ldlibs := -lcsv -ljansson -lyaml -lutf8proc -lzip -lblis -lm -ldl

core_src := $(filter-out core/cuda/%,$(wildcard core/*/*.c))
x86_only := core/kernel/avx2.c core/kernel/avxvnni.c core/kernel/avx512.c core/kernel/avx512vnni.c core/kernel/amx.c
arm_only := core/kernel/neon.c core/kernel/neondot.c
core_src := $(filter-out $(if $(filter x86_64,$(arch)),$(arm_only),$(x86_only)),$(core_src))
core_src := $(filter-out $(if $(filter aarch64,$(arch)),,$(arm_only)),$(core_src))
core_obj := $(core_src:%.c=$(B)/%.o)
cmd_shared := $(patsubst %.c,$(B)/%.o,$(filter-out cmd/bert-%.c,$(wildcard cmd/*.c)))
programs := $(patsubst cmd/%.c,$(B)/%,$(wildcard cmd/bert-*.c))
unit_tests := $(patsubst tests/unit/%.c,$(B)/tests/%,$(wildcard tests/unit/test_*.c))

all: $(programs)

$(B)/core/kernel/%.o: required += -O3
$(B)/core/kernel/avx2.o: required += -mavx2 -mfma -mf16c
$(B)/core/kernel/avxvnni.o: required += -mavx2 -mfma -mf16c -mavxvnni
$(B)/core/kernel/avx512.o: required += -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c
$(B)/core/kernel/avx512vnni.o: required += -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni -mfma -mf16c
$(B)/core/kernel/amx.o: required += -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni -mamx-tile -mamx-int8 -mfma -mf16c
$(B)/core/kernel/neondot.o: required += -march=armv8.2-a+dotprod

$(B)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(required) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

# The built-in vocabulary, as the bytes of a C array.
$(B)/generated/vocabulary_zh.h: data/vocab/bert-base-chinese-vocab.txt
	@mkdir -p $(@D)
	od -An -v -tu1 $< | sed 's/ *\([0-9][0-9]*\)/\1,/g' > $@
$(B)/core/model/tokenizer_files.o: $(B)/generated/vocabulary_zh.h

$(B)/libbert.a: $(core_obj)
	@rm -f $@
	$(AR) rcs $@ $^

$(B)/bert-%: $(B)/cmd/bert-%.o $(cmd_shared) $(B)/libbert.a
	$(CC) $(required) $(CFLAGS) $(LDFLAGS) $^ -o $@ $(ldlibs) $(ldlibs-$*)
ldlibs-serve := -lmicrohttpd

$(B)/tests/%: $(B)/tests/unit/%.o $(B)/libbert.a
	@mkdir -p $(@D)
	$(CC) $(required) $(CFLAGS) $(LDFLAGS) $^ -o $@ $(shell pkg-config --libs check) $(ldlibs) -lmicrohttpd

unit: $(unit_tests)
	@set -e; for t in $^; do $$t; done

clean:
	rm -rf build build-*

.PHONY: all unit clean
.SECONDARY:
-include $(shell find $(B) -name '*.d' 2>/dev/null)
