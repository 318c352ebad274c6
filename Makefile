# SPDX-License-Identifier: MIT
# bert-tools. Targets: all (build/), check, check-full, coverage, bench, accuracy, fuzz,
# completions, install, install-dev, uninstall, dist, deb, clean. Variables: prefix, DESTDIR
# and the other lower-case GNU folders, CC, CFLAGS, CPPFLAGS, LDFLAGS, and
#   DEVELOPER=1                  more warnings, all of them errors
#   SANITIZE=address,undefined   instruments everything
#   B=FOLDER                     where to build; each configuration has its own by default
#   V=1                          prints every command

VERSION := 0.1.0

prefix ?= /usr/local
exec_prefix ?= $(prefix)
bindir ?= $(exec_prefix)/bin
libdir ?= $(exec_prefix)/lib
includedir ?= $(prefix)/include
datarootdir ?= $(prefix)/share
datadir ?= $(datarootdir)
mandir ?= $(datarootdir)/man
docdir ?= $(datarootdir)/doc/bert-tools

comma := ,
CFLAGS ?= -O2 -g -fstack-protector-strong
B ?= build$(if $(SANITIZE),-$(subst $(comma),-,$(SANITIZE)))

# ---- Flags that the code needs, whatever CFLAGS says -----------------------------------

arch := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))

required := -std=c11 -D_GNU_SOURCE -Icore -I$(B)/generated -pthread -ffp-contract=off \
    -fno-strict-aliasing -Wall -Wextra -Wvla -Wmissing-prototypes -Wstrict-prototypes \
    -Wwrite-strings -Wno-unused-parameter -Wno-missing-field-initializers \
    -include core/base/banned.h \
    -ffile-prefix-map=$(B)=build -ffile-prefix-map=$(CURDIR)=.
ifdef DEVELOPER
required += -Werror -Wshadow -Wpointer-arith -Wundef -Wformat=2 -Wno-format-nonliteral
endif
ifdef SANITIZE
required += -fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=all
endif
ifdef FUZZ
required += -fsanitize=fuzzer-no-link
endif

as_needed := $(if $(filter Linux,$(shell uname -s)),-Wl$(comma)--as-needed)
# BLIS is loaded when it is wanted (core/kernel/blis.c); --as-needed keeps libmicrohttpd out
# of all programs but bert-serve.
ldlibs := $(as_needed) -lcsv -ljansson -lyaml -lutf8proc -lzip -lmicrohttpd -lm -ldl
check_libs = $(shell pkg-config --libs check 2>/dev/null || echo -lcheck)

ifdef SANITIZE # instrumented at -O2 the kernels take minutes to compile
$(B)/core/kernel/%.o: private CFLAGS += -O1
endif
$(B)/core/kernel/avx2.o: private required += -mavx2 -mfma -mf16c
$(B)/core/kernel/avxvnni.o: private required += -mavx2 -mfma -mf16c -mavxvnni
avx512 := -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c
$(B)/core/kernel/avx512.o: private required += $(avx512)
$(B)/core/kernel/avx512vnni.o: private required += $(avx512) -mavx512vnni
$(B)/core/kernel/amx.o: private required += $(avx512) -mavx512vnni -mamx-tile -mamx-int8
$(B)/tests/unit/test_kernel_amx.o: private required += $(if $(filter x86_64,$(arch)),$(avx512))
$(B)/core/model/sha256_x86.o: private required += -msse4.1 -msha
$(B)/core/kernel/neondot.o: private required += -march=armv8.2-a+dotprod
$(B)/core/nn/backend_load.o: private required += -DBACKEND_DIR='"$(libdir)/bert-tools"'
$(B)/tests/unit/%.o: private required += -Icmd

# ---- What is built ---------------------------------------------------------------------

x86_only := $(addprefix core/kernel/,avx2.c avxvnni.c avx512.c avx512vnni.c amx.c) \
    core/model/sha256_x86.c
arm_only := $(addprefix core/kernel/,neon.c neondot.c)
foreign := $(if $(filter x86_64,$(arch)),,$(x86_only)) \
    $(if $(filter aarch64 arm64,$(arch)),,$(arm_only))
core_src := $(filter-out core/cuda/% $(foreign),$(wildcard core/*/*.c))
core_obj := $(core_src:%.c=$(B)/%.o)
cmd_obj := $(patsubst %.c,$(B)/%.o,$(filter-out cmd/bert-%.c,$(wildcard cmd/*.c)))
programs := $(patsubst cmd/%.c,$(B)/%,$(wildcard cmd/bert-*.c))
unit_tests := $(patsubst tests/unit/%.c,$(B)/tests/%,$(wildcard tests/unit/test_*.c))
fuzzers := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
bench_main := $(shell grep -l '^int main' tests/bench/*.c 2>/dev/null)
bench_obj := $(patsubst %.c,$(B)/%.o,$(filter-out $(bench_main),$(wildcard tests/bench/*.c)))
benches := $(patsubst tests/bench/%.c,$(B)/bench/%,$(bench_main))

quiet := $(if $(V),,@)
say := @$(if $(V),:,printf '  %-4s %s\n')

all: $(programs)

# The parts without third-party libraries, for a compiler of another machine:
# make portable CC=aarch64-linux-gnu-gcc B=build-aarch64
portable: $(filter-out %/blis.o,$(filter $(B)/core/base/% $(B)/core/kernel/% \
    $(B)/core/nn/% $(B)/core/mlm/%,$(core_obj)))

# A changed flag rebuilds everything; an unchanged one nothing.
flags = $(CC) $(required) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS)
quote = '$(subst ','\'',$1)'
define keep # quoted lines: written to $@ unless that is what stands there
@mkdir -p $(@D)
@printf '%s\n' $1 | cmp -s - $@ || printf '%s\n' $1 > $@
endef
$(B)/generated/flags: FORCE
	$(call keep,$(call quote,$(flags)))
$(B)/generated/build_info.h: FORCE
	$(call keep,'#define BERT_VERSION "$(VERSION)"' '#define BERT_PREFIX "$(prefix)"' \
	    '/* $(libdir) */' \
	    '#define BERT_COMPILER "$(shell $(CC) --version | head -1 | tr -dc 'A-Za-z0-9 .+~()-')"')
$(B)/cmd/common_options.o $(B)/cmd/bert-serve.o $(B)/core/nn/backend_load.o: \
    $(B)/generated/build_info.h

$(B)/%.o: %.c $(B)/generated/flags | $(if $(filter portable,$(MAKECMDGOALS)),,$(B)/generated/packages)
	@mkdir -p $(@D)
	$(say) CC $<
	$(quiet)$(CC) $(required) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

# Files that are built in, as the bytes of a C array.
$(B)/generated/vocabulary_zh.h: data/vocab/bert-base-chinese-vocab.txt
$(B)/core/model/tokenizer_files.o: $(B)/generated/vocabulary_zh.h
$(B)/generated/page_html.h: data/page/index.html
$(B)/generated/openapi_yaml.h: data/openapi.yaml
$(B)/core/service/page.o: $(B)/generated/page_html.h $(B)/generated/openapi_yaml.h
$(B)/generated/vocabulary_zh.h $(B)/generated/page_html.h $(B)/generated/openapi_yaml.h:
	@mkdir -p $(@D)
	od -An -v -tu1 $< | sed 's/ *\([0-9][0-9]*\)/\1,/g' > $@

$(B)/libbert.a: $(core_obj)
$(B)/libcmd.a: $(cmd_obj)
$(B)/libbench.a: $(bench_obj)
$(B)/%.a:
	$(say) AR $@
	@rm -f $@
	$(quiet)$(AR) rcs $@ $^

link = $(quiet)mkdir -p $(@D) && $(CC) $(required) $(CFLAGS) $(LDFLAGS) $^ -o $@
$(B)/bert-%: $(B)/cmd/bert-%.o $(B)/libcmd.a $(B)/libbert.a
	$(say) LINK $@
	$(link) $(ldlibs)

$(B)/tests/%: $(B)/tests/unit/%.o $(B)/libcmd.a $(B)/libbert.a
	$(say) LINK $@
	$(link) $(ldlibs) $(check_libs)

$(B)/replay/%: $(B)/tests/fuzz/fuzz_%.o $(B)/tests/fuzz/replay.o $(B)/libcmd.a $(B)/libbert.a
	$(say) LINK $@
	$(link) $(ldlibs)

$(B)/fuzz/%: $(B)/tests/fuzz/fuzz_%.o $(B)/libcmd.a $(B)/libbert.a
	$(say) LINK $@
	$(link) $(ldlibs) -fsanitize=fuzzer

$(B)/bench/%: $(B)/tests/bench/%.o $(B)/libbench.a $(B)/libbert.a
	$(say) LINK $@
	$(link) $(ldlibs)

# ---- Packages: missing ones are named before the compiler stumbles ----------------------

# Models are mapped whole, and their numbers read as they lie in the file.
machine := __SIZEOF_POINTER__ == 8 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
define look_at_machine
@printf '%s\n' '#if !($(machine))' '#error' '#endif' | \
    $(CC) $(CPPFLAGS) $(CFLAGS) -E - >/dev/null 2>&1 || { \
    echo "bert-tools needs a 64-bit, little-endian machine ($(CC) makes code for another," \
        "or does not work)"; exit 1; }
endef

needed := csv.h:libcsv-dev blis.h:libblis-dev jansson.h:libjansson-dev \
    yaml.h:libyaml-dev utf8proc.h:libutf8proc-dev microhttpd.h:libmicrohttpd-dev \
    zip.h:libzip-dev
needed_tests := check.h:check
define look_for # list of HEADER:PACKAGE
@missing=; for pair in $1; do \
    echo "#include <$${pair%%:*}>" | $(CC) $(CPPFLAGS) $(CFLAGS) -E - >/dev/null 2>&1 || \
        missing="$$missing $${pair#*:}"; \
done; [ -z "$$missing" ] || { echo "missing packages:$$missing"; \
    echo "on Debian and Ubuntu: sudo apt-get install$$missing   (or: ./setup run)"; exit 1; }
@mkdir -p $(@D) && touch $@
endef
$(B)/generated/packages:
	$(look_at_machine)
	$(call look_for,$(needed))
$(B)/generated/packages-tests: $(B)/generated/packages
	$(call look_for,$(needed_tests))
packages: $(B)/generated/packages
$(unit_tests:$(B)/tests/%=$(B)/tests/unit/%.o): | $(B)/generated/packages-tests

# ---- Tests; TESTING.md says what each tier proves ----------------------------------------

# A suite ends with "N passed, N failed"; tests/FOLDER/run belong to check, run-full to
# check-full.
replays := $(foreach f,$(fuzzers),"$(B)/replay/$f tests/fuzz/corpus/$f")
built_tests := $(programs) $(unit_tests) $(fuzzers:%=$(B)/replay/%)
suites := tests/lint/run $(unit_tests) $(replays) \
    $(filter-out tests/lint/run,$(wildcard tests/*/run))
export B

check: $(built_tests)
	@tests/run $(suites)

unit: $(unit_tests)
	@tests/run $(unit_tests)

cli: $(programs)
	@tests/run tests/cli/run

# What another compiler and the sanitizers repeat.
again: $(programs) $(unit_tests) $(fuzzers:%=$(B)/replay/%)
	@tests/run -j $(unit_tests) $(replays) tests/cli/run

lint:
	@tests/run tests/lint/run

# What ThreadSanitizer looks at: all that has threads.
threaded := $(addprefix $(B)/tests/test_,job nn pool serve serve_parts)
threads: $(programs) $(threaded)
	@tests/run -j $(threaded) "tests/cli/run bert-batch"

# Threads that still run when a program ends possibly lose their own stacks: no error.
memcheck := valgrind -q --leak-check=full --show-leak-kinds=definite \
    --errors-for-leak-kinds=definite --error-exitcode=99
remake := $(MAKE) -j$(shell getconf _NPROCESSORS_ONLN) DEVELOPER=1
more := "tests/with valgrind tests/cli/run -w '$(memcheck)'" \
    "$(remake) SANITIZE=address,undefined B=build-asan again" \
    "$(remake) SANITIZE=thread B=build-tsan threads" \
    "tests/with clang $(remake) CC=clang B=build-clang again" \
    tests/clean-room.sh tests/packaging.sh tests/arm.sh $(wildcard tests/*/run-full)

# What check-full has beyond check.
check-more: $(programs) $(benches)
	@tests/run -j $(more)

check-full:
	@tests/run "$(MAKE) check" "$(MAKE) check-more"

# Lines of core/ that the tests run, at least 90 %.
coverage:
	$(MAKE) B=build-coverage CFLAGS='-O1 -g --coverage' LDFLAGS=--coverage check
	@tests/coverage.sh build-coverage

fuzz_seconds ?= 60
fuzz:
	$(MAKE) CC=clang SANITIZE=address,undefined FUZZ=1 B=build-fuzz fuzz-run
fuzz-run: $(fuzzers:%=$(B)/fuzz/%)
	@set -e; for f in $(fuzzers); do \
	    mkdir -p $(B)/corpus/$$f; echo "== $$f"; \
	    $(B)/fuzz/$$f -max_total_time=$(fuzz_seconds) -timeout=10 -rss_limit_mb=2048 \
	        -artifact_prefix=$(B)/fuzz/$$f- $(B)/corpus/$$f tests/fuzz/corpus/$$f; \
	done

bench: $(programs) $(benches)
	@tests/bench/bench

accuracy: $(programs)
	@tests/bench/accuracy

# ---- Generated and committed: completions, the shared parts of manual pages ---------------

completions: $(programs)
	completions/generate

include core/cuda/rules.mk

# ---- Installation: one list of SOURCE|FOLDER|MODE for install and uninstall ---------------

languages := $(patsubst man/%/,%,$(filter %/,$(wildcard man/*/)))
models := $(shell find data/models -type f 2>/dev/null)
pages := $(wildcard man/*.[157]) $(foreach l,$(languages),$(wildcard man/$l/*.[157]))
page_folder = $(mandir)/$(if $(filter man/,$(dir $1)),,$(patsubst man/%/,%,$(dir $1))/)man$(subst .,,$(suffix $1))
bashdir ?= $(datarootdir)/bash-completion/completions
zshdir ?= $(datarootdir)/zsh/site-functions
fishdir ?= $(datarootdir)/fish/vendor_completions.d
files := $(foreach f,$(programs),$f|$(bindir)|755) \
    $(foreach f,$(models),$f|$(patsubst data/%/,$(datadir)/bert-tools/%,$(dir $f))|644) \
    $(foreach f,$(pages),$f|$(call page_folder,$f)|644) \
    $(foreach s,bash zsh fish,$(foreach f,$(wildcard completions/$s/*),$f|$($sdir)|644)) \
    $(foreach f,$(wildcard README.md README.zh-CN.md LICENSE data/config.yaml data/openapi.yaml), \
        $f|$(docdir)|644) \
    $(foreach f,$(wildcard docs/*.svg docs/*.png),$f|$(docdir)/docs|644) \
    $(foreach f,$(wildcard data/samples/* examples/*),$f|$(docdir)/examples|644) \
    $(foreach f,$(wildcard data/bert-serve.service),$f|$(prefix)/lib/systemd/system|644)
dev_files := core/bert.h|$(includedir)|644 $(B)/libbert.a|$(libdir)|644 \
    $(B)/bert.pc|$(libdir)/pkgconfig|644

define put # list
@set -e; for entry in $(foreach f,$1,'$f'); do \
    source=$${entry%%|*}; rest=$${entry#*|}; folder=$(DESTDIR)$${rest%|*}; \
    mkdir -p "$$folder"; install -m $${rest##*|} "$$source" "$$folder/"; \
done
endef
define take_away # list; empty folders of our own go too
@for entry in $(foreach f,$1,'$f'); do \
    rest=$${entry#*|}; source=$${entry%%|*}; rm -f "$(DESTDIR)$${rest%|*}/$${source##*/}"; \
done
@for folder in "$(DESTDIR)$(docdir)" "$(DESTDIR)$(datadir)/bert-tools"; do \
    [ ! -d "$$folder" ] || find "$$folder" -depth -type d -empty -exec rmdir {} \; ; \
done
endef

install: all
	$(call put,$(files))

$(B)/bert.pc: packaging/bert.pc.in $(B)/generated/build_info.h
	sed -e 's|@prefix@|$(prefix)|; s|@libdir@|$(libdir)|; s|@includedir@|$(includedir)|' \
	    -e 's|@version@|$(VERSION)|; s|@libs@|$(ldlibs)|' $< > $@

install-dev: $(B)/libbert.a $(B)/bert.pc
	$(call put,$(dev_files))

uninstall:
	$(call take_away,$(files) $(dev_files))

distfolder ?= .
dist:
	git archive --prefix=bert-tools-$(VERSION)/ HEAD | gzip -n -9 \
	    > $(distfolder)/bert-tools-$(VERSION).tar.gz

# Debian packages, with bert-tools-cuda where nvcc is.
deb:
	packaging/deb $(VERSION) $(distfolder)

clean:
	rm -rf build build-*

.PHONY: all portable packages check check-full check-more coverage unit cli again threads lint \
    fuzz fuzz-run bench accuracy completions \
    install install-dev uninstall dist deb clean FORCE
.SECONDARY:
.DELETE_ON_ERROR:
-include $(shell find $(B) -name '*.d' 2>/dev/null)
