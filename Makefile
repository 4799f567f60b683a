# One file for everything. `make help` lists what it can do.
#   CC=clang, SAN=address,undefined   build beside the plain build, in build/<cc>[-<san>]
#   V=1                               print the commands
#   WITHOUT="etcd zookeeper"          lockkit without these backends, in build/<cc>-without-etcd-zookeeper
#   PREFIX=/usr/local, DESTDIR=       where `make install` puts everything (scripts/install; docs/install.md)
#   PORT_BASE=8100                    where the stack listens (order-svc; +1, +2 the inventory; +90 Postgres; +91 Redis)

CC := $(if $(filter default,$(origin CC)),gcc,$(CC))
SAN ?=
PORT_BASE ?= 8000
export PORT_BASE
comma := ,
run = $(if $(V),,@printf '  %-5s %s\n' $1 $@ && )
WITHOUT ?=
empty :=
B ?= build/$(notdir $(CC))$(if $(SAN),-$(subst $(comma),-,$(SAN)))$(if $(WITHOUT),-without-$(subst $(empty) $(empty),-,$(strip $(WITHOUT))))
export B

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes \
    -Wmissing-prototypes -Wpointer-arith -Wcast-qual -Wwrite-strings -Wswitch-enum -Wundef -Wformat=2 -Wvla \
    -Wimplicit-fallthrough -Werror
OPTIMISE := $(if $(SAN),-O1 -fsanitize=$(SAN) -fno-sanitize-recover=all,-O2)
HARDEN := $(if $(SAN),,-D_FORTIFY_SOURCE=2) -fstack-protector-strong -fPIC -fno-semantic-interposition
# rediss:// needs hiredis 1.0 or later, built with TLS.
TLS_PACKAGES := $(shell pkg-config --exists hiredis_ssl libssl 2>/dev/null && echo hiredis_ssl libssl libcrypto)
PACKAGES := libuv hiredis $(TLS_PACKAGES) libpq jansson zlib libcurl
FLAGS_uvkit/redis := $(if $(TLS_PACKAGES),-DUVKIT_REDIS_TLS)
PACKAGE_CFLAGS := $(shell pkg-config --cflags $(PACKAGES) 2>/dev/null)
override CFLAGS += -std=c11 -D_GNU_SOURCE -g -fno-omit-frame-pointer $(OPTIMISE) $(HARDEN) $(WARNINGS) $(PACKAGE_CFLAGS)
override LDFLAGS += -pie -Wl,--as-needed $(OPTIMISE)
LAB_LIBS := -lseccomp
JQ_LIBS := -ljq # Debian 12 has no jq.pc
PACKAGE_LIBS := $(shell pkg-config --libs $(PACKAGES) 2>/dev/null)
LIBS = $(PACKAGE_LIBS) $(LLHTTP_LIBS) $(sort $(foreach a,$(BACKENDS),$(LIBS_$a))) $(LAB_LIBS) $(JQ_LIBS) -lm

# llhttp: the system's library if there is one (Debian 13, always strict), else Debian 12's sources, compiled in their place.
LLHTTP_LIBS := $(shell pkg-config --libs libllhttp 2>/dev/null)
LLHTTP_CFLAGS := $(if $(LLHTTP_LIBS),$(shell pkg-config --cflags libllhttp),-isystem /usr/share/include/llhttp -DLLHTTP_STRICT_MODE=1)
LLHTTP_OBJECTS := $(if $(LLHTTP_LIBS),,$(patsubst %,$(B)/llhttp/%.o,api http llhttp))

# Rooms: each folder of sources is an archive, and sees only the rooms named here, all of them below it, the highest
# first. An upward include does not compile; an upward call does not link (`make rooms` links each one whole).
UVKIT := uvkit/batch uvkit/service uvkit/metrics uvkit/redis_cluster uvkit/redis uvkit/pg uvkit/web uvkit/http_client uvkit/http_server uvkit/net uvkit/process uvkit/settings uvkit/text uvkit
SEES_uvkit :=
SEES_uvkit/process := uvkit
SEES_uvkit/net := uvkit
SEES_uvkit/text := uvkit
SEES_uvkit/settings := uvkit
SEES_uvkit/http_server := uvkit/text uvkit
SEES_uvkit/http_client := uvkit/net uvkit/text uvkit
SEES_uvkit/web := uvkit/net uvkit
SEES_uvkit/batch := uvkit
SEES_uvkit/metrics := uvkit
SEES_uvkit/pg := uvkit/net uvkit
SEES_uvkit/redis := uvkit/net uvkit
SEES_uvkit/redis_cluster := uvkit/redis uvkit/net uvkit
SEES_uvkit/service := uvkit/metrics uvkit/pg uvkit/http_server uvkit/net uvkit/process uvkit/settings uvkit/text uvkit
# The two hearts. A strategy sees only the seam. The judge goes from records and ledgers to a verdict, and sees no server.
FAMILIES := $(addprefix strategies/,process redis coordination postgres machine spread)
SEES_strategies/seam :=
$(foreach a,$(FAMILIES),$(eval SEES_$a := strategies/seam))
SEES_strategies := $(FAMILIES) strategies/seam
SEES_strategies/spec := strategies $(FAMILIES) strategies/seam uvkit
SEES_judge/record := uvkit
SEES_judge/ledger := judge/record uvkit
SEES_judge/linear := judge/record uvkit
SEES_judge := judge/linear judge/ledger judge/record uvkit
# lockkit's backends, each a room: the rooms of uvkit, and the other backends, that each one sees.
NEEDS_etcd := uvkit/http_client uvkit/net uvkit/text
NEEDS_postgres := uvkit/pg uvkit/net
NEEDS_zookeeper := uvkit/net
NEEDS_redis := uvkit/redis uvkit/net
NEEDS_redis_cluster := lockkit/backends/redis uvkit/redis_cluster uvkit/redis uvkit/net
NEEDS_redis_wire := lockkit/backends/redis uvkit/redis uvkit/net
NEEDS_redlock := uvkit/redis uvkit/net
rooms_of_backends := $(filter-out test,$(notdir $(patsubst %/,%,$(wildcard lockkit/backends/*/))))
found := $(filter-out $(WITHOUT),$(rooms_of_backends))
others = $(patsubst lockkit/backends/%,%,$(filter lockkit/%,$(NEEDS_$1)))
# A backend stands before the one that it needs: the linker wants that order. Without the latter it is left out, too.
BACKENDS := $(foreach a,$(found),$(if $(call others,$a),$(if $(filter $(found),$(call others,$a)),$a)))
BACKENDS += $(foreach a,$(found),$(if $(call others,$a),,$a))
LOCKKIT_CORE := lockkit/src $(BACKENDS:%=lockkit/backends/%) lockkit/backends
LOCKKIT := lockkit/recipes $(LOCKKIT_CORE)
SEES_lockkit/backends := lockkit/include uvkit
$(foreach a,$(BACKENDS),$(eval SEES_lockkit/backends/$a := $(filter lockkit/%,$(NEEDS_$a)) lockkit/backends lockkit/include $(filter uvkit/%,$(NEEDS_$a)) uvkit))
SEES_lockkit/src := $(BACKENDS:%=lockkit/backends/%) lockkit/backends lockkit/include $(filter $(foreach a,$(BACKENDS),$(NEEDS_$a)),$(UVKIT)) uvkit
SEES_lockkit/recipes := lockkit/include
FLAGS_lockkit/src := $(foreach a,$(rooms_of_backends),-DLOCKKIT_WITH_$a=$(if $(filter $a,$(BACKENDS)),1,0))
SEES_lockkit/example := lockkit/include
SEES_lockkit/lockctl := lockkit/include uvkit/process uvkit/settings uvkit
SEES_order-svc/instances := $(UVKIT)
SEES_order-svc/orders := order-svc/instances $(UVKIT)
SEES_order-svc/settling := order-svc/orders order-svc/instances $(UVKIT)
SEES_order-svc := order-svc/settling $(SEES_order-svc/settling)
SEES_inventory-svc/sql := strategies/seam uvkit/metrics uvkit/pg uvkit/net uvkit
SEES_inventory-svc/pending := inventory-svc/sql strategies/seam uvkit/metrics uvkit/pg uvkit/redis_cluster uvkit/redis uvkit/net uvkit
SEES_inventory-svc/product := strategies/spec strategies inventory-svc/sql $(FAMILIES) strategies/seam $(UVKIT)
SEES_inventory-svc/locks := lockkit/include inventory-svc/product $(SEES_inventory-svc/product)
SEES_inventory-svc/store := inventory-svc/locks inventory-svc/pending $(SEES_inventory-svc/locks)
SEES_inventory-svc/selling := inventory-svc/store $(SEES_inventory-svc/store)
SEES_inventory-svc/http := inventory-svc/selling $(SEES_inventory-svc/selling)
SEES_inventory-svc/exercise := strategies/seam uvkit/process uvkit
SEES_inventory-svc := inventory-svc/http inventory-svc/exercise $(SEES_inventory-svc/http)
SEES_loadgen/text := uvkit
SEES_loadgen/plan := loadgen/text uvkit/settings uvkit
SEES_loadgen/audit := loadgen/plan loadgen/text judge $(SEES_judge) $(UVKIT)
SEES_loadgen/shop := uvkit
SEES_loadgen/flow := loadgen/shop $(UVKIT)
SEES_loadgen/books := loadgen/flow loadgen/shop judge/ledger judge/record $(UVKIT)
SEES_loadgen/send := loadgen/plan loadgen/text judge/record $(UVKIT)
SEES_loadgen/crowd := loadgen/flow loadgen/shop loadgen/send loadgen/plan loadgen/text judge/record $(UVKIT)
SEES_loadgen/options := loadgen/plan loadgen/text judge $(SEES_judge) uvkit/settings uvkit/text uvkit
SEES_loadgen/rounds := loadgen/options loadgen/audit $(SEES_loadgen/audit)
SEES_loadgen/progress := loadgen/send $(SEES_loadgen/send)
SEES_loadgen/report := loadgen/rounds $(SEES_loadgen/rounds)
SEES_loadgen/page := loadgen/report $(SEES_loadgen/report)
SEES_loadgen/results := loadgen/page $(SEES_loadgen/page)
SEES_loadgen/parts := loadgen/results loadgen/send $(SEES_loadgen/results)
SEES_loadgen/serve := loadgen/results $(SEES_loadgen/results)
SEES_loadgen/class := loadgen/serve loadgen/send $(SEES_loadgen/serve)
SEES_loadgen/claims := loadgen/report $(SEES_loadgen/report)
SEES_loadgen/run := loadgen/class loadgen/claims loadgen/parts loadgen/serve loadgen/results loadgen/page loadgen/report loadgen/progress loadgen/crowd loadgen/send loadgen/books loadgen/flow loadgen/shop $(SEES_loadgen/report)
SEES_lab/world := strategies/seam
SEES_lab/servers := lab/world strategies/seam
SEES_lab/model := lab/servers lab/world strategies/seam
SEES_lab/explore := lab/model $(SEES_lab/model) uvkit
SEES_lab/verdict := lab/explore judge $(SEES_judge) lab/model $(SEES_lab/model)
SEES_lab/student := strategies/seam uvkit
SEES_lab/tell := lab/verdict $(SEES_lab/verdict) uvkit/text uvkit
SEES_lab/pupil := lab/student $(SEES_lab/student) uvkit/process
SEES_lab/grade := lab/pupil lab/student lab/tell $(SEES_lab/tell) strategies/spec $(SEES_strategies/spec) uvkit/process
SEES_lab/class := lab/grade $(SEES_lab/grade)
SEES_lab/command := lab/class $(SEES_lab/class) uvkit/settings uvkit
# It judges lock libraries by their behaviour, so it sees none of them.
SEES_lockjudge/history := uvkit/text uvkit
SEES_lockjudge/oracle := lockjudge/history uvkit/text uvkit
SEES_lockjudge/worker := uvkit
SEES_lockjudge/faults := lockjudge/worker lockjudge/history $(UVKIT)
SEES_lockjudge/trial := lockjudge/faults lockjudge/worker lockjudge/history $(UVKIT)
SEES_lockjudge/report := lockjudge/oracle lockjudge/trial $(SEES_lockjudge/trial)
SEES_lockjudge/run := lockjudge/report $(SEES_lockjudge/report)
SEES_lockjudge/adapters := lockkit/include
# It shares a page with lockjudge/faults, and is a library of its own.
SEES_lockjudge/clock := lockjudge/faults
SEES_bench := order-svc $(SEES_order-svc) lockkit/include loadgen/crowd loadgen/send loadgen/flow loadgen/shop loadgen/plan loadgen/text judge $(SEES_judge) $(UVKIT)
# Rooms above a room that its tests see, to compare with or to run on.
TESTS_SEE_lab/model := test/lib/inventory-svc test/lib/strategies inventory-svc/selling $(SEES_inventory-svc/selling)
TESTS_SEE_strategies := test/lib/lab lab/explore $(SEES_lab/explore)
TESTS_SEE_lockkit/backends/postgres := test/lib/uvkit
FLAGS_uvkit/http_server := $(LLHTTP_CFLAGS)
FLAGS_uvkit/http_client := $(LLHTTP_CFLAGS)
ROOMS := $(patsubst SEES_%,%,$(filter SEES_%,$(.VARIABLES)))
$(foreach a,$(ROOMS),$(foreach b,$(SEES_$a),$(if $(filter $a,$(SEES_$b)),$(error the rooms $a and $b see each other))))

folder = $(filter-out %.c,$(firstword $(subst /, ,$(patsubst test/lib/%,%,$1))))
room = $(patsubst %/test,%,$(patsubst %/,%,$(dir $1)))
# The include path of a source. Tests also see the fixtures; fixtures see each room of their folder and of the folders here.
FIXTURES_loadgen := test/lib/judge judge $(SEES_judge)
FIXTURES_lab := strategies/spec $(SEES_strategies/spec)
FIXTURES_inventory-svc := test/lib/strategies $(FIXTURES_lab)
fixtures = $(if $(filter lockkit backends,$(folder)),test/lib/backends test/lib/lockkit,$(folder:%=test/lib/%)) $(FIXTURES_$(folder)) test/lib/servers test/lib $(UVKIT)
sees = $(room) $(SEES_$(room)) $(if $(filter test/lib/%,$1),$(if $(folder),$(filter $(folder:backends=lockkit)%,$(ROOMS))) lockkit/include) \
    $(if $(findstring test/,$1),$(TESTS_SEE_$(room)) $(fixtures))
# A test need not use the state that cmocka gives it.
includes = $(subst -iquote lockkit/include,-I lockkit/include,$(addprefix -iquote ,$(call sees,$1))) $(FLAGS_$(room)) $(if $(findstring test/,$1),-Wno-unused-parameter)

objects = $(patsubst %,$(B)/%.o,$(basename $(wildcard $1)))
# The archives to link, for rooms in order, the highest first. A user of lockkit.h links all of lockkit; a room of lockkit links
# only the rooms below it.
is_core = $(filter $(LOCKKIT_CORE),$(firstword $1))
archives = $(patsubst %,$(B)/%.a,$(subst lockkit/include,$(if $(is_core),,$(filter-out $(firstword $1),$(LOCKKIT)) $(UVKIT)),$1)) $(B)/llhttp.a
PROGRAMS := $(addprefix $(B)/bin/,order-svc inventory-svc loadgen lab lockctl lockjudge)
# Workers of lockjudge that are programs of ours.
ADAPTERS := $(B)/bin/lockjudge-lockkit
# lockjudge loads it into a worker, to move its clock.
CLOCK := $(B)/lib/lockjudge-clock.so
BENCHES := $(patsubst bench/%.c,$(B)/bin/bench_%,$(wildcard bench/*.c))
TESTS := $(patsubst %.c,$(B)/%,$(wildcard */test/test_*.c */*/test/test_*.c */*/*/test/test_*.c))
# Tests fail our allocations one by one (test/lib/fault.h).
WRAP := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup,--wrap=strndup

MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:

all: $(PROGRAMS) $(ADAPTERS) $(CLOCK) ## build the programs

$(B)/bin/order-svc: $(call archives,order-svc $(SEES_order-svc))
# The functions that a strategy may call, even one in a shared object (--exercise).
$(B)/bin/inventory-svc: $(call archives,inventory-svc $(SEES_inventory-svc)) strategies/seam/exports.list
$(B)/bin/inventory-svc: override LDFLAGS += -Wl,--dynamic-list=strategies/seam/exports.list
$(B)/bin/loadgen: $(call archives,loadgen/run $(SEES_loadgen/run))
$(B)/bin/lab: $(call archives,lab/command $(SEES_lab/command))
# A student's strategy calls the seam by name. A process for each question would look up each symbol again: bind them all at once.
$(B)/bin/lab: override LDFLAGS += -Wl,--dynamic-list=strategies/seam/exports.list -Wl,-z,now
# It uses of lockkit only the public functions.
$(B)/bin/lockctl: $(patsubst %,$(B)/%.a,lockkit/lockctl uvkit/process uvkit/settings uvkit) $(B)/lib/lockkit.o
$(B)/bin/lockjudge: $(call archives,lockjudge/run $(SEES_lockjudge/run))
$(B)/bin/lockjudge: | $(CLOCK)
# Any program may be a worker, so no sanitizer belongs in there.
$(CLOCK): OPTIMISE := -O2
$(CLOCK): $(B)/lockjudge/clock/clock.o
	@mkdir -p $(@D)
	$(call run,LINK)$(CC) $(filter-out -pie,$(LDFLAGS)) -shared -Wl,-z,defs -o $@ $^
$(B)/bin/lockjudge-lockkit: $(B)/lockjudge/adapters/lockkit.o $(call archives,$(SEES_lockjudge/adapters))
$(B)/bin/hold $(B)/bin/async: $(B)/bin/%: $(B)/lockkit/example/%.o $(call archives,$(SEES_lockkit/example))
$(B)/bin/bench_%: $(B)/bench/%.o $(call archives,$(SEES_bench))
	@mkdir -p $(@D)
	$(call run,LINK)$(CC) $(LDFLAGS) -o $@ -Wl,--start-group $^ -Wl,--end-group $(LIBS)
$(PROGRAMS) $(ADAPTERS) $(B)/bin/hold $(B)/bin/async:
	@mkdir -p $(@D)
	$(call run,LINK)$(CC) $(LDFLAGS) -o $@ -Wl,--start-group $(filter-out %.list,$^) -Wl,--end-group $(LIBS)

.SECONDEXPANSION:
$(B)/llhttp.a: $(LLHTTP_OBJECTS)
$(patsubst %,$(B)/%.a,$(ROOMS) $(patsubst %/,%,$(wildcard test/lib test/lib/*/))): $(B)/%.a: $$* $$(call objects,$$*/*.c $$*/*.S $$*/lua/*.lua)
$(B)/%.a:
	@rm -f $@
	@mkdir -p $(@D)
	$(call run,AR)ar rcs $@ $(filter %.o,$^)

# All of a room, linked with the rooms below it: each call must find its function there.
$(B)/%.whole: $$(call archives,$$* $$(SEES_$$*))
	$(call run,ROOM)$(CC) $(LDFLAGS) -nostartfiles -Wl,-z,defs,-e,0 -o $@ -Wl,--whole-archive $< \
	    -Wl,--no-whole-archive -Wl,--start-group $(wordlist 2,99,$^) -Wl,--end-group $(LIBS)
rooms: $(patsubst %,$(B)/%.whole,$(filter-out bench lockkit/example lockkit/lockctl lockjudge/adapters lockjudge/clock,$(ROOMS))) ## link each room whole against those below it

# All sources of a folder have the same flags, in a file that is written only when they change. So another edit of this Makefile
# compiles nothing. GNU make 4.3 leaves the last newline in files of some lengths, so both sides are stripped. It read the
# folders before, and finds a file that is written now only by a rule.
flags = $(CC) $(CFLAGS) $(LDFLAGS) $(LIBS) $(call includes,$1x.c)
is_same = $(if $(subst x$1,,x$2)$(subst x$2,,x$1),,same)
kept_flags = $(strip $(file <$1flags))
ifneq ($(filter-out help clean format,$(or $(MAKECMDGOALS),all)),)
FOLDERS := $(sort $(dir $(wildcard $(addsuffix *.c,*/ */*/ */*/*/ */*/*/*/))))
$(foreach d,$(FOLDERS),$(if $(call is_same,$(strip $(call flags,$d)),$(call kept_flags,$(B)/$d)),, \
    $(shell mkdir -p $(B)/$d)$(file >$(B)/$dflags,$(call flags,$d))))
$(addprefix $(B)/,$(FOLDERS:=flags)): ;
endif

$(B)/llhttp/%.o: /usr/share/llhttp/%.c $(B)/uvkit/http_server/flags
	@mkdir -p $(@D)
	$(call run,CC)$(CC) -O2 -g -fPIC $(LLHTTP_CFLAGS) -c -o $@ $<

$(B)/%.o: %.c $$(@D)/flags
	@mkdir -p $(@D)
	$(call run,CC)$(CC) $(CFLAGS) $(call includes,$<) -MMD -MP -c -o $@ $<
$(B)/%.o: %.S
	@mkdir -p $(@D)
	$(call run,AS)$(CC) -c -o $@ $<
# A Lua script behind its digest: redis/lua/renew.lua becomes `redis_renew`, a struct redis_script (uvkit/redis/redis.h). A line
# `-- include FILE` stands for that file.
$(B)/%.o: %.lua $$(wildcard $$(dir $$*)parts/*.lua)
	@mkdir -p $(@D)
	$(call run,LUA)awk '$$1 $$2 != "--include" {print; next} {while ((at = getline line <("$(<D)/" $$3)) > 0) print line} at < 0 {exit 1}' \
	    $< >$(@:.o=.lua) && name=$(notdir $(<D:/lua=))_$(*F) && sha1=$$(sha1sum <$(@:.o=.lua) | cut -c-40) && \
	    echo ".section .rodata; .global $$name; .hidden $$name; $$name: .asciz \"$$sha1\"; .incbin \"$(@:.o=.lua)\"; .byte 0;" \
	    '.section .note.GNU-stack, "", @progbits' | $(CC) -c -x assembler -o $@ -
# glibc's fortified longjmp mistakes a jump to another stack for one into a returned frame, and aborts.
$(B)/uvkit/fiber.o: override CFLAGS += -U_FORTIFY_SOURCE
$(B)/loadgen/audit/audit_text.o: sql/audit.sql
$(B)/loadgen/shop/draft_text.o: loadgen/shop/draft.shop
$(B)/lockkit/backends/postgres/schema_text.o: lockkit/backends/postgres/lockkit.sql
$(B)/loadgen/page/page_text.o: $(wildcard loadgen/page/*.html loadgen/page/*.css loadgen/page/*.js)
$(B)/lab/tell/tell_texts.o: $(wildcard lab/tell/page.*) $(addprefix loadgen/page/,palette.css steps.css steps.js)
$(B)/lab/class/class_text.o: $(wildcard lab/class/*.html lab/class/*.css) loadgen/page/palette.css
$(B)/loadgen/serve/serve_text.o: $(wildcard loadgen/serve/*.html loadgen/serve/*.css) loadgen/page/palette.css
$(B)/lockjudge/report/report_text.o: lockjudge/report/page.css loadgen/page/palette.css
$(B)/loadgen/class/class_text.o: $(wildcard loadgen/class/*.html loadgen/class/*.css loadgen/class/*.js) $(addprefix loadgen/page/,palette.css dom.js steps.css steps.js)
# --version has LK_VERSION and the revision; env.json has the revision: the commit, and whether they differ from it, or REVISION where there is no
# git. Made again only when that has changed.
DESCRIBE = GIT_OPTIONAL_LOCKS=0 git --git-dir=.git describe --always --dirty --abbrev=40 --exclude '*' 2>/dev/null
$(B)/revision: .FORCE
	@mkdir -p $(@D)
	@revision=$${REVISION:-$$($(DESCRIBE))} || revision=unknown; \
	    [ "$$revision" = "$$(cat $@ 2>/dev/null)" ] || echo "$$revision" >$@
LK_VERSION := $(shell sed -n 's/^\#define LK_VERSION  *"\(.*\)"/\1/p' lockkit/include/lockkit.h)
$(B)/uvkit/settings/version.o: $(B)/revision lockkit/include/lockkit.h
$(B)/uvkit/settings/version.o: override CFLAGS += -DVERSION='"$(LK_VERSION)"' -DREVISION='"$(shell cat $(B)/revision)"'

# A unit test links its room, the rooms below, and the fixtures with their rooms of uvkit. Tests of backends link all of lockkit.
test_of = $(addprefix $(B)/test/lib/,fault.o failed.o) $(call archives,$(filter-out uvkit% $(if $(filter lockkit/backends/%,$(room)),$(LOCKKIT)),$(fixtures) $(room) $(SEES_$(room)) $(TESTS_SEE_$(room))) $(UVKIT))
$(TESTS): $(B)/%: $(B)/%.o $$(call test_of,$$*)
	$(call run,LINK)$(CC) $(LDFLAGS) $(WRAP) -o $@ -Wl,--start-group $^ -Wl,--end-group $(LIBS) -lcmocka
$(B)/lockjudge/faults/test/test_wall: | $(CLOCK)
$(B)/lockkit/src/test/test_hold: | $(B)/bin/hold # it runs this program

# Fuzzers see the parsers that they feed; `make fuzz` builds them with clang in build/fuzz.
# Those of lockjudge and lab are apart: loadgen, too, has a history.h.
FUZZERS := $(patsubst test/fuzz/%.c,$(B)/bin/%,$(wildcard test/fuzz/*.c))
FUZZERS_OF_LOCKJUDGE := $(patsubst test/fuzz/lockjudge/%.c,$(B)/bin/%,$(wildcard test/fuzz/lockjudge/*.c))
FUZZERS_OF_LAB := $(patsubst test/fuzz/lab/%.c,$(B)/bin/%,$(wildcard test/fuzz/lab/*.c))
FUZZERS_SEE := loadgen/flow loadgen/shop loadgen/results $(SEES_loadgen/results)
FLAGS_test/fuzz := $(addprefix -iquote ,$(LOCKKIT) $(filter-out $(UVKIT),$(FUZZERS_SEE))) -I lockkit/include
FLAGS_test/fuzz/lockjudge := -iquote test/fuzz $(addprefix -iquote ,lockjudge/report $(SEES_lockjudge/report))
$(FUZZERS): $(B)/bin/%: $(B)/test/fuzz/%.o $(call archives,$(filter-out $(UVKIT),$(FUZZERS_SEE)) lockkit/include)
$(FUZZERS_OF_LOCKJUDGE): $(B)/bin/%: $(B)/test/fuzz/lockjudge/%.o $(call archives,lockjudge/report $(SEES_lockjudge/report))
FLAGS_test/fuzz/lab := -iquote test/fuzz $(addprefix -iquote ,lab/grade $(SEES_lab/grade))
$(FUZZERS_OF_LAB): $(B)/bin/%: $(B)/test/fuzz/lab/%.o $(call archives,lab/grade $(SEES_lab/grade))
$(FUZZERS) $(FUZZERS_OF_LOCKJUDGE) $(FUZZERS_OF_LAB):
	@mkdir -p $(@D)
	$(call run,LINK)$(CC) $(LDFLAGS) -fsanitize=fuzzer -o $@ -Wl,--start-group $^ -Wl,--end-group $(LIBS)
fuzzers: $(FUZZERS) $(FUZZERS_OF_LOCKJUDGE) $(FUZZERS_OF_LAB)

# ---- lockkit alone: it becomes one object with its parts of uvkit; only lk_ names are visible outside.
SONAME := liblockkit.so.$(firstword $(subst ., ,$(LK_VERSION)))
LIBRARY := $(addprefix $(B)/lib/,liblockkit.a liblockkit.so.$(LK_VERSION) lockkit.pc)
# The needs of each backend besides libuv: packages of pkg-config that can be linked statically, and libraries.
REQUIRES_etcd := jansson
$(foreach a,redis redis_cluster redis_wire redlock,$(eval REQUIRES_$a := hiredis $(filter hiredis_ssl,$(TLS_PACKAGES))) \
    $(eval LIBS_$a := $(if $(TLS_PACKAGES),-lssl -lcrypto)))
LIBS_etcd := $(LLHTTP_LIBS)
LIBS_postgres := -lpq
LIBS_zookeeper := -lzookeeper_st
LIBRARY_REQUIRES = $(sort $(foreach a,$(BACKENDS),$(REQUIRES_$a)))
# lockkit_pg.h includes libpq's header.
LIBRARY_CFLAGS = $(if $(filter postgres,$(BACKENDS)),$(shell pkg-config --cflags libpq))
LIBRARY_LIBS = $(sort $(foreach a,$(BACKENDS),$(LIBS_$a)))
$(B)/bin/lockctl: LIBS = $(shell pkg-config --libs libuv jansson $(LIBRARY_REQUIRES)) $(LIBRARY_LIBS) -lm

$(B)/lib/lockkit.o: $(patsubst %,$(B)/%.a,$(LOCKKIT) $(filter $(SEES_lockkit/src),$(UVKIT))) $(if $(filter etcd,$(BACKENDS)),$(B)/llhttp.a)
	@mkdir -p $(@D)
	$(call run,LD)ld -r -o $@ --whole-archive $(filter $(LOCKKIT:%=$(B)/%.a),$^) --no-whole-archive \
	    --start-group $(filter-out $(LOCKKIT:%=$(B)/%.a),$^) --end-group && \
	    objcopy --wildcard --keep-global-symbol='lk_*' $@
$(B)/lib/liblockkit.a: $(B)/lib/lockkit.o
$(B)/lib/liblockkit.so.$(LK_VERSION): $(B)/lib/lockkit.o
	$(call run,LINK)$(CC) $(filter-out -pie,$(LDFLAGS)) -shared -Wl,-soname,$(SONAME) -Wl,-z,defs -o $@ $< \
	    $(shell pkg-config --libs libuv $(LIBRARY_REQUIRES)) $(LIBRARY_LIBS) -lm
$(B)/lib/lockkit.pc: lockkit/lockkit.pc.in lockkit/include/lockkit.h Makefile
	@mkdir -p $(@D)
	@sed -e 's|@VERSION@|$(LK_VERSION)|' -e 's|@REQUIRES@|$(LIBRARY_REQUIRES)|' -e 's|@LIBS@|$(LIBRARY_LIBS)|' \
	    -e 's|@CFLAGS@|$(LIBRARY_CFLAGS)|' $< >$@
lib: $(LIBRARY) ## build lockkit as a library, static and shared

# What the programs tell of themselves: man pages of all but lockctl, and completions of all.
MANUALS := $(addprefix $(B)/man/,loadgen.1 lab.1 lockjudge.1 order-svc.8 inventory-svc.8)
COMPLETIONS := $(patsubst $(B)/bin/%,$(B)/completions/bash/%,$(PROGRAMS)) $(B)/completions/zsh/_inventory-sale \
    $(patsubst $(B)/bin/%,$(B)/completions/fish/%.fish,$(PROGRAMS))
$(MANUALS): $$(B)/bin/$$(basename $$(@F)) ; @mkdir -p $(@D)
	$(call run,MAN)$< --help-format man $(if $(filter %/lab.1,$@),| sed '/^[.]Sh ENVIRONMENT$$/e scripts/manual lab') >$@
$(B)/man/lab.1: scripts/lab scripts/manual
SCRIPT_MANUALS := $(addprefix $(B)/man/sale-,stack.1 audit.1)
$(SCRIPT_MANUALS): $(B)/man/sale-%.1: scripts/% scripts/manual scripts/home.sh ; @mkdir -p $(@D)
	$(call run,MAN)scripts/manual $* >$@
$(COMPLETIONS): scripts/completion.$$(notdir $$(patsubst %/,%,$$(@D))) ; @mkdir -p $(@D)
	$(call run,COPY)cp $< $@
man: $(MANUALS) $(SCRIPT_MANUALS) ## man pages of the programs, in build/gcc/man
completions: $(COMPLETIONS) ## completions for bash, zsh and fish, in build/gcc/completions

HEADERS := $(filter-out $(if $(filter postgres,$(BACKENDS)),,%/lockkit_pg.h),$(wildcard lockkit/include/*.h))
INSTALL = LK_VERSION='$(LK_VERSION)' HEADERS='$(HEADERS)' MANUALS='$(MANUALS) $(SCRIPT_MANUALS)' COMPLETIONS='$(COMPLETIONS)' scripts/install
install: $(PROGRAMS) $(ADAPTERS) $(CLOCK) $(LIBRARY) $(MANUALS) $(SCRIPT_MANUALS) $(COMPLETIONS) ## install all, with man pages and completions; PREFIX=, DESTDIR=
	@$(INSTALL) all
install-lockkit: $(LIBRARY) $(B)/bin/lockctl ## install lockkit alone: library, headers, lockctl, man pages
	@$(INSTALL) lockkit
uninstall: ## remove the files of install or install-lockkit
	@$(INSTALL) --remove all

deb: ## build Debian packages into build/deb
	@scripts/deb
test-deb: ## the same; install them in a clean root, sell, explore, and remove them
	@test/deb.sh

deps: ## install missing packages
	@scripts/deps

demo: ## build, start everything, run five strategies, print the table, stop everything
	@scripts/deps build
	@scripts/demo

shops: ## buy in each shop of shops/ that can be had here, judge it, and write docs/shops.md
	@scripts/deps build
	@$(MAKE) --no-print-directory all
	@scripts/shops

locks: ## judge each lock library of lockjudge/adapters that can be had here, and write docs/locks.md
	@scripts/deps locks
	@$(MAKE) --no-print-directory all build/locks/Curator.class
	@scripts/locks
build/locks/Curator.class: lockjudge/adapters/Curator.java
	@mkdir -p $(@D)
	$(call run,JAVAC)javac -cp /usr/share/java/curator-recipes.jar -d $(@D) $<

class: ## build, start a stack and the page that runs strategies in front of a class; Ctrl-C ends all
	@scripts/deps build
	@scripts/class

lab: ## the labs: build what they need, list the chapters, and say how to begin
	@scripts/deps lab
	@$(MAKE) --no-print-directory all
	@scripts/lab list

up: ## build and start the stack for your own curl and loadgen
	@scripts/deps build
	@$(MAKE) --no-print-directory all
	@scripts/stack up
	@with=$$(bash -c 'printf %s "$${RUN_DIR:+RUN_DIR=$${RUN_DIR@Q} }"'); printf '%s\n' 'order-svc listens on http://127.0.0.1:$(PORT_BASE). Next:' \
	    "  curl -s http://127.0.0.1:$(PORT_BASE)/orders -H 'Content-Type: application/json' \\" \
	    "       -d '{\"product_id\": \"82391173-9dbc-49b6-821b-746a11dbbe5e\"}'" \
	    '  curl -s http://127.0.0.1:$(PORT_BASE)/products/82391173-9dbc-49b6-821b-746a11dbbe5e' \
	    "  $${with}scripts/loadgen --strategy redis,atomic" "  $${with}make down"

down: ## stop the stack of `make up`
	@scripts/stack down

test: ## unit tests and, at the same time, system tests on real servers
	@scripts/deps test
	@test/run unit system

test-unit: ## unit tests only; T=test_fiber runs one
	@scripts/deps test
	@test/run unit

test-system: ## system tests only; T=... runs one
	@test/run system

test-debian13: ## demo, unit and system tests on Debian 13, in a root folder of its own
	@scripts/on-debian 13 sh -c 'make demo && make test'

fuzz: ## fuzz each parser of untrusted bytes; T=urls runs one; SECONDS=10
	@FUZZ_SECONDS=$(SECONDS) test/fuzz/run

tests: all $(TESTS) # test/run builds these

claims: ## show every claim: its failure, and its cure
	@scripts/deps build
	@$(MAKE) --no-print-directory all
	@scripts/loadgen claims all

soak: ## make claims ten times in a row
	@for round in 1 2 3 4 5 6 7 8 9 10; do $(MAKE) --no-print-directory claims || exit 1; done

image: ## build the image of compose.yaml, with its revision in env.json
	@compose='docker compose'; docker compose version >/dev/null 2>&1 || compose=docker-compose; \
	    REVISION=$$($(DESCRIBE)) $$compose build

test-compose: ## build the image of compose.yaml, run the demo in it, and check it, on a Docker engine
	@test/run compose
test-swarm: ## as root: swarm.yaml on two engines of its own; in mid-sale it replaces both services, and loses a node
	@COMPOSE_PROFILES=etcd $(MAKE) --no-print-directory image
	@test/swarm.sh

benches: all $(BENCHES)
bench: ## measure, as ratios against pgbench, wrk and raw round trips
	@scripts/deps test
	@bench/run

growth: all ## how rates and latencies grow with rows, clients, shards and instances: a page with plots
	@scripts/deps test
	@bench/run growth

power: all ## how many of 20 default runs catch each strategy that is wrong
	@scripts/deps build
	@bench/power

reference: all ## write docs/reference.md, docs/calls.md and the chapters' schedules from the programs and the code
	@scripts/reference >$(B)/reference.md && cp $(B)/reference.md docs/reference.md
	@scripts/lab calls >$(B)/calls.md && cp $(B)/calls.md docs/calls.md
	@scripts/schedules

lint: ## layout, static analysis, lengths, words, documents against the code
	@scripts/deps test
	@scripts/lint

format: ## lay out the sources
	clang-format -i $$(git ls-files '*.[ch]')

clean: ## remove the build folder
	rm -rf build

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-15s %s\n", $$1, $$2}' Makefile

.PHONY: .FORCE all rooms lib man completions reference install install-lockkit uninstall deb test-deb deps demo shops locks class lab up down test test-unit test-system test-debian13 fuzz fuzzers tests claims soak image test-compose test-swarm benches bench growth power lint format clean help
-include $(shell find $(B) -name '*.d' 2>/dev/null)
