# One file for everything. `make help` lists what it can do.
#   CC=clang, SAN=address,undefined   build beside the plain build, in build/<cc>[-<san>]
#   V=1                               print the commands
#   PORT_BASE=8100                    where the stack listens (order-svc; +1, +2 the inventory; +90 Postgres; +91 Redis)

CC := $(if $(filter default,$(origin CC)),gcc,$(CC))
SAN ?=
PORT_BASE ?= 8000
export PORT_BASE
comma := ,
run = $(if $(V),,@printf '  %-5s %s\n' $1 $@ && )
B ?= build/$(notdir $(CC))$(if $(SAN),-$(subst $(comma),-,$(SAN)))
export B

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes \
    -Wmissing-prototypes -Wpointer-arith -Wcast-qual -Wwrite-strings -Wswitch-enum -Wundef -Wformat=2 -Wvla \
    -Wimplicit-fallthrough -Werror
OPTIMISE := $(if $(SAN),-O1 -fsanitize=$(SAN) -fno-sanitize-recover=all,-O2)
HARDEN := $(if $(SAN),,-D_FORTIFY_SOURCE=2) -fstack-protector-strong -fPIE
PACKAGES := libuv hiredis libpq jansson zlib
override CFLAGS += -std=c11 -D_GNU_SOURCE -g -fno-omit-frame-pointer $(OPTIMISE) $(HARDEN) $(WARNINGS) \
    $(shell pkg-config --cflags $(PACKAGES) 2>/dev/null)
override LDFLAGS += -pie -Wl,--as-needed $(OPTIMISE)
LIBS = $(shell pkg-config --libs $(PACKAGES) 2>/dev/null) $(LLHTTP_LIBS) -lm

# llhttp: the system's library where there is one (Debian 13), else Debian 12's sources, compiled from where they are.
LLHTTP_LIBS := $(shell pkg-config --libs libllhttp 2>/dev/null)
LLHTTP_CFLAGS := $(if $(LLHTTP_LIBS),$(shell pkg-config --cflags libllhttp),-isystem /usr/share/include/llhttp)
LLHTTP_OBJECTS := $(if $(LLHTTP_LIBS),,$(patsubst %,$(B)/llhttp/%.o,api http llhttp))

# Includes go one way: a folder sees only these, so an upward include does not compile.
INCLUDE_uvkit := -iquote uvkit $(LLHTTP_CFLAGS)
INCLUDE_lockkit := -iquote lockkit/src -Ilockkit/include -iquote uvkit
INCLUDE_order-svc := -iquote order-svc -iquote uvkit
INCLUDE_inventory-svc := -iquote inventory-svc -Ilockkit/include -iquote uvkit
INCLUDE_loadgen := -iquote loadgen -iquote uvkit
INCLUDE_bench := -iquote uvkit -iquote loadgen
INCLUDE_test := -iquote test/lib -iquote uvkit
includes = $(INCLUDE_$(firstword $(subst /, ,$1)))

objects = $(patsubst %,$(B)/%.o,$(basename $(wildcard $1)))
UVKIT := $(call objects,uvkit/*.c) $(LLHTTP_OBJECTS)
LOCKKIT := $(call objects,lockkit/src/*.c)
OBJECTS_order-svc := $(call objects,order-svc/*.c)
OBJECTS_inventory-svc := $(call objects,inventory-svc/*.c inventory-svc/strategies/*.c)
OBJECTS_loadgen := $(call objects,loadgen/*.c loadgen/*.S)
PROGRAMS := $(addprefix $(B)/bin/,order-svc inventory-svc loadgen)
BENCHES := $(patsubst bench/%.c,$(B)/bin/bench_%,$(wildcard bench/*.c))
TESTLIB := $(call objects,test/lib/*.c)
TESTS := $(patsubst %.c,$(B)/%,$(wildcard */test/test_*.c))
# Tests fail our allocations one by one (test/lib/fault.h).
WRAP := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup,--wrap=strndup

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:

all: $(PROGRAMS) ## build the programs

$(B)/bin/order-svc: $(OBJECTS_order-svc) $(B)/libuvkit.a
$(B)/bin/inventory-svc: $(OBJECTS_inventory-svc) $(B)/liblockkit.a $(B)/libuvkit.a
$(B)/bin/loadgen: $(OBJECTS_loadgen) $(B)/libuvkit.a
$(B)/bin/hold: $(B)/lockkit/example/hold.o $(B)/liblockkit.a $(B)/libuvkit.a
$(B)/bin/bench_checker: $(B)/loadgen/linear.o
$(B)/bin/bench_%: $(B)/bench/%.o $(B)/libuvkit.a
	@mkdir -p $(@D)
	$(call run,LINK)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)
$(PROGRAMS) $(B)/bin/hold:
	@mkdir -p $(@D)
	$(call run,LINK)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)

$(B)/libuvkit.a: $(UVKIT)
$(B)/liblockkit.a: $(LOCKKIT)
$(B)/%.a:
	@rm -f $@
	$(call run,AR)ar rcs $@ $^

$(B)/llhttp/%.o: /usr/share/llhttp/%.c
	@mkdir -p $(@D)
	$(call run,CC)$(CC) -O2 -g -fPIE $(LLHTTP_CFLAGS) -c -o $@ $<

$(B)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call run,CC)$(CC) $(CFLAGS) $(if $(findstring /test/,$<),-iquote test/lib) $(call includes,$<) -MMD -MP -c -o $@ $<
$(B)/%.o: %.S Makefile
	@mkdir -p $(@D)
	$(call run,AS)$(CC) -c -o $@ $<
$(B)/loadgen/audit_text.o: sql/audit.sql
$(B)/loadgen/page_text.o: $(wildcard loadgen/page/*)
# What env.json says of the sources: the commit, and whether they differ from it. Made again only when that has changed.
$(B)/revision: .FORCE
	@mkdir -p $(@D)
	@revision=$$(GIT_OPTIONAL_LOCKS=0 git --git-dir=.git describe --always --dirty --abbrev=40 --exclude '*' 2>/dev/null) || revision=unknown; \
	    [ "$$revision" = "$$(cat $@ 2>/dev/null)" ] || echo "$$revision" >$@
$(B)/loadgen/environment.o: $(B)/revision
$(B)/loadgen/environment.o: override CFLAGS += -DREVISION='"$(shell cat $(B)/revision)"'

# A unit test links its folder's objects without main, and the folders below it.
TESTLINK = $(call run,LINK)$(CC) $(LDFLAGS) $(WRAP) -o $@ $^ $(LIBS) -lcmocka
$(B)/uvkit/test/%: $(B)/uvkit/test/%.o $(TESTLIB) $(B)/libuvkit.a
	$(TESTLINK)
$(B)/lockkit/test/%: $(B)/lockkit/test/%.o $(TESTLIB) $(B)/liblockkit.a $(B)/libuvkit.a
	$(TESTLINK)
$(B)/lockkit/test/test_hold: | $(B)/bin/hold # which it runs
$(B)/order-svc/test/%: $(B)/order-svc/test/%.o $(TESTLIB) $(filter-out %/main.o,$(OBJECTS_order-svc)) $(B)/libuvkit.a
	$(TESTLINK)
$(B)/inventory-svc/test/%: $(B)/inventory-svc/test/%.o $(TESTLIB) $(filter-out %/main.o,$(OBJECTS_inventory-svc)) $(B)/liblockkit.a $(B)/libuvkit.a
	$(TESTLINK)
$(B)/loadgen/test/%: $(B)/loadgen/test/%.o $(TESTLIB) $(filter-out %/main.o,$(OBJECTS_loadgen)) $(B)/libuvkit.a
	$(TESTLINK)

deps: ## install what is missing
	@scripts/deps

demo: ## build, start everything, run five strategies, print the table, stop everything
	@scripts/deps build
	@scripts/demo

up: ## build and start the stack for your own curl and loadgen
	@scripts/deps build
	@$(MAKE) --no-print-directory all
	@scripts/stack up
	@printf '%s\n' 'order-svc listens on http://127.0.0.1:$(PORT_BASE). Next:' \
	    "  curl -s http://127.0.0.1:$(PORT_BASE)/orders -H 'Content-Type: application/json' \\" \
	    "       -d '{\"product_id\": \"82391173-9dbc-49b6-821b-746a11dbbe5e\"}'" \
	    '  curl -s http://127.0.0.1:$(PORT_BASE)/products/82391173-9dbc-49b6-821b-746a11dbbe5e' \
	    '  scripts/loadgen --strategy redis,atomic' '  make down'

down: ## stop what `make up` started
	@scripts/stack down

test: ## unit tests, then the system tests on real servers
	@scripts/deps test
	@test/run unit system

test-unit: ## unit tests only; T=test_fiber runs one
	@test/run unit

test-system: ## system tests only; T=... runs one
	@test/run system

tests: all $(TESTS) # what test/run builds

test-compose: ## the same in containers, on a Docker engine
	@test/run compose

benches: all $(BENCHES)
bench: ## measure, as ratios against pgbench, wrk and raw round trips
	@scripts/deps test
	@$(MAKE) --no-print-directory benches
	@bench/run

lint: ## layout, static analysis, function lengths, README against the code
	@scripts/deps test
	@scripts/lint

format: ## lay out the sources
	clang-format -i $$(git ls-files '*.[ch]')

clean: ## remove what was built
	rm -rf build

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' Makefile

.PHONY: .FORCE all deps demo up down test test-unit test-system tests test-compose benches bench lint format clean help
-include $(shell find $(B) -name '*.d' 2>/dev/null)
