# What the targets need beyond Go, git and make they install themselves (on Debian and its kin, as root).

ifneq ($(words $(CURDIR)),1)
$(error make can't handle white space in a path: move this checkout away from "$(CURDIR)")
endif

# The targets need the workspace, which README.md turns off for a single program, and which takes no -mod=mod.
unexport GOWORK
export GOFLAGS := $(filter-out -mod=%,$(GOFLAGS))

GO       ?= go
FUZZTIME ?= 30s

# For what waits, or hardly uses more than one core.
TWO_AT_A_TIME = $(MAKE) --no-print-directory --jobs=2 --output-sync

# Installs packages of Debian, or says which ones are missing; $(2) goes before and $(3) after apt-get's install.
define install
{ apt-get update && $(2) DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $(3) $(1); } || \
	{ echo "make could not install these, which it can only on Debian, as root and online: $(1): install them, or what has their programs here" >&2; exit 1; }
endef

STATICCHECK = $(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2

# It runs go test, without what go vet finds: that is for lint.
GOTEST = $(CURDIR)/bin/gotest
TEST   = $(GOTEST) run -vet=off

# CPUs that this machine is not: without AVX-512, without AVX2, without SVE, and with SVE2 at vector
# lengths of 128, 256 and 512 bits. The tests fail when a backend that the CPU promises is not used.
CPUS      = cpu-avx2 cpu-nehalem cpu-neon cpu-sve2-128 cpu-sve2-256 cpu-sve2-512
# Other architectures, run by emulation: 32 bits, big-endian, and those that users have.
EMULATED  = emulated-s390x emulated-arm emulated-riscv64 emulated-arm64
# What depends on word size and byte order, and what is else for one architecture alone.
PORTABLE  = . ./compat ./compat/v2 ./store ./store/filestore ./lease ./counter ./numbers/ff1 ./link ./mask ./ulid ./ulid/objectkey
# Modules of their own, with the dependencies that the root does without. Those that take longest come first, so that no
# core is left idle at the end.
MODULES   = cmd/randflake chaos service store/etcdstore/etcdtest store/mysqlstore store/pgstore store/redisstore store/etcdstore store/sqlitestore store/storeurl bench \
            examples/databases examples/orders service/client service/api metrics/prom metrics/telemetry compat/upstream
# Where goroutines meet; the race detector watches these in test, and all in check.
CONCURRENT = . ./counter ./lease ./local ./numbers ./snowflake ./store ./store/filestore ./ulid ./internal/coarse ./internal/queue
# Those that check runs: they compile much that no other module has, or compile our own modules once more.
LATER     = release $(APART) service/browsertest
# Those with a workspace of their own.
APART     = ulid/s3test
EVERYTHING = ./... $(patsubst %,./%/...,$(filter-out $(APART),$(MODULES) $(LATER)))
# Those that no test runs on, and linux/arm64 for its assembly.
PLATFORMS = linux/arm64 darwin/arm64 windows/amd64 freebsd/amd64 js/wasm

.PHONY: all test check ordinary explore control runbooks embedded prove race race-all purego newer kernels valgrind i386 cpus $(CPUS) emulated $(EMULATED) modules-later $(LATER:%=test-in-%) \
        chaos chaos-short release soak lint fmt vet staticcheck tidy buf api api-check words bench fuzz fuzz-night generate protocol clients languages typescript node npm \
        test-deploy alerts dashboards promtool image push tools servers browser statistics systemd gotest

all: test check lint

# test is what a contributor runs, check the rest. Each ends with a list of what this machine can't do. What stands in
# REQUIRED, names of tests as in that list, must not be skipped.
IN_test  = ordinary race clients explore
IN_check = i386 cpus emulated prove purego newer valgrind race-all test-deploy alerts modules-later control runbooks embedded chaos-short

test check: export GOTEST_LOG = $(CURDIR)/dist/$@.log
test check: gotest
	@mkdir -p dist && rm -f $(GOTEST_LOG)
	@$(MAKE) --no-print-directory $(IN_$@) || { $(GOTEST) list; exit 1; }
	@$(GOTEST) list $(REQUIRED)

gotest:
	@$(GO) build -o $(GOTEST) ./internal/tools/gotest

# Every package as it is built for users, on real servers, which are started as needed, on free ports and in temporary
# directories. One go command compiles what modules share just once.
ordinary: gotest servers statistics typescript
	$(TEST) -p 3 -skip '^($(CONTROL)|$(RUNBOOKS)|$(EMBEDDED)|$(PROOFS))$$' $(MODULES:%=./%/...) ./...

# The negative control of chaos is for check.
CONTROL = TestPlantedBugs
control: gotest
	cd chaos && $(TEST) -run '^$(CONTROL)$$' .

# The commands of docs/runbooks, on each engine. They mostly wait.
RUNBOOKS = TestRunbooks
runbooks: gotest servers
	cd cmd/randflake && $(TEST) -parallel 8 -run '^$(RUNBOOKS)$$' .

# The SQL of randflake sql in DuckDB and ClickHouse, which come from npm and take 600 MB. npm ci refuses that of chdb, some of
# whose optional packages for other systems are not published.
EMBEDDED = TestCipherEmbedded
embedded: gotest node examples/databases/embedded/node_modules/.package-lock.json
	cd examples/databases && $(TEST) -run '^$(EMBEDDED)$$' .
examples/databases/embedded/node_modules/.package-lock.json: examples/databases/embedded/package-lock.json | npm
	cd examples/databases/embedded && $(NPM_CI:ci=install) --no-save
	@touch $@

# Proofs that the cipher's machine code for amd64 and arm64 computes what the paper says, in time that depends on neither
# key nor data; that single changes of instructions are refused; and the models of instructions, compared with
# processors. The go command does not know that they read the package.
PROOFS = TestKernels|TestWrongKernels|TestWrongRotationInOneLane|TestModels|TestMutants
prove: gotest tools
	$(TEST) -count=1 -timeout 0 -run '^($(PROOFS))$$' ./internal/tools/prove

race: gotest
	$(TEST) -race -short $(CONCURRENT)

# Every schedule of a few processes with leases and counters, for EXPLORE each of about thirty sets of moves, as many at a
# time as there are processors.
EXPLORE ?= 4s
explore: gotest
	$(TEST) -run '^TestExplore$$' -timeout 0 ./store -explore $(EXPLORE)

# The suites of tests for engines, and the clients of servers, are compiled once more for the race detector. What takes
# long in lease plays many processes in one goroutine, but for that of keepers.
race-all: gotest servers
	RANDFLAKE_SERVERS=yes $(TEST) -race -short ./...
	$(TEST) -race -run TestKeepersProperty ./lease
	$(TEST) -race ./service/...

# The packages that have files of their own for the tag.
purego: gotest
	$(TEST) -tags purego . ./ulid

# The newest release of Go; the go command fetches it. The others run the oldest one that go.mod takes.
NEWER = go1.27.4
newer: gotest
	GOTOOLCHAIN=$(NEWER) $(TEST) -short ./...
	GOTOOLCHAIN=$(NEWER) $(GO) vet $(MODULES:%=./%/...)
	set -e; for tags in $(ARCHSIMD_TAGS); do \
		$(ARCHSIMD) vet -tags $$tags .; \
		$(ARCHSIMD:$(GO)=$(TEST)) -tags $$tags -short -run '^(Test(ArchSIMD|Vectors.*|Bulk.*|Run.*|Backends.*|Soak|NoAllocation)|FuzzCipher)$$' .; \
	done

# How much longer plain Go and simd/archsimd take than each kernel: that is what the assembly is for. See docs/benchmarks.md.
ARCHSIMD      = GOTOOLCHAIN=$(NEWER) GOEXPERIMENT=simd $(GO)
ARCHSIMD_TAGS = archsimd archsimd,avx2
kernels:
	@set -e; for tags in $(ARCHSIMD_TAGS); do $(ARCHSIMD) test -tags $$tags -run '^$$' -bench '^BenchmarkKernels$$' -benchtime 1x .; done

# Valgrind reports each branch and each address that depends on undefined memory: here on keys and on what is encrypted.
valgrind: gotest
	@command -v valgrind >/dev/null || $(call install,valgrind)
	CGO_ENABLED=0 GOARCH=amd64 $(TEST) -tags valgrind -ldflags="-s=false -w" -exec $(CURDIR)/internal/testing/valgrind/run.sh -run '^Test(SecretsTraced|PlantedLeaks)$$' . ./mask ./numbers/ff1

# Not every kernel runs programs of 32 bits, and qemu-i386 does not run Go: emulated-arm has words as short.
HERE_386 = CGO_ENABLED=0 GOARCH=386
i386: gotest
	$(HERE_386) $(GO) vet $(PORTABLE) ./snowflake
	@if said=$$($(HERE_386) $(GO) test -run '^$$' ./internal/coarse 2>&1); then \
		echo "$(HERE_386) go test -short $(PORTABLE) ./snowflake"; \
		$(HERE_386) $(TEST) -short $(PORTABLE) ./snowflake && $(GOTEST) ran 386; \
	else \
		$(GOTEST) skip 386 "$$(echo "$$said" | head -n 1)"; \
	fi

cpus: gotest tools
	@$(TWO_AT_A_TIME) $(CPUS)

on    = RANDFLAKE_BACKENDS="$(3)" CGO_ENABLED=0 GOARCH=$(1) $(TEST) -short -exec "$(2)" .
comma = ,
sve2  = $(call on,arm64,qemu-aarch64 -cpu max$(comma)sve-max-vq=$(1),sve2 neon generic)
cpu-avx2:;     $(call on,amd64,qemu-x86_64 -cpu max,avx2 generic)
cpu-nehalem:;  $(call on,amd64,qemu-x86_64 -cpu Nehalem,generic)
cpu-neon:;     $(call on,arm64,qemu-aarch64 -cpu cortex-a72,neon generic)
cpu-sve2-128:; $(call sve2,1)
cpu-sve2-256:; $(call sve2,2)
cpu-sve2-512:; $(call sve2,4)

emulated: gotest tools
	@$(TWO_AT_A_TIME) $(EMULATED)

# What has no assembly runs where users have it, which is arm64, where the byte order is another one, and where words are
# shorter. On arm64 the root package has run by then, on each of CPUS.
$(EMULATED): emulated-%:
	CGO_ENABLED=0 GOARCH=$* $(TEST) -short -exec $(EMULATOR) $(PACKAGES_THERE)
emulated-arm64:   EMULATOR = qemu-aarch64
emulated-s390x:   EMULATOR = qemu-s390x
emulated-riscv64: EMULATOR = qemu-riscv64
emulated-arm:     EMULATOR = qemu-arm
emulated-s390x emulated-arm: PACKAGES_THERE = $(PORTABLE)
emulated-riscv64: PACKAGES_THERE = . ./compat ./mask ./ulid
emulated-arm64: PACKAGES_THERE = $(filter-out . ./counter,$(PORTABLE))

modules-later: gotest servers browser
	@$(TWO_AT_A_TIME) $(LATER:%=test-in-%)

$(LATER:%=test-in-%): test-in-%:
	cd $* && $(TEST) ./...

TYPESCRIPT = clients/typescript/dist/index.js

# What runs randflaked. It is not in go.work: what Kubernetes' libraries require would be in use in all modules.
test-deploy: gotest systemd
	cd deploy && GOWORK=off $(GO) vet ./... && GOWORK=off $(TEST) ./...

# When each alert fires, and when it does not.
alerts: promtool
	cd deploy && promtool check rules chart/alerts.yaml && promtool test rules monitoring/alerts_test.yaml

# The dashboards, and their pictures in docs, from ten minutes with faults.
dashboards: promtool servers
	cd deploy && GOWORK=off $(GO) run ./monitoring
	cd bench && $(GO) run ./dashboards

# The clients of service in other languages, each by its own tests and all by those of clients/README.md.
clients: export RANDFLAKE_LANGUAGES = all
clients: gotest languages $(TYPESCRIPT)
	cd clients/python && python3 -m unittest discover -t . -s tests
	cd clients/typescript && npm test
	cd clients/php && php tests/run.php
	cd clients/ruby && ruby test/run.rb
	cd clients/java && javac --release 17 -d build/classes $$(find src -name '*.java') && \
		javac --release 17 -cp build/classes -d build/test $$(find test -name '*.java') && \
		java -cp build/classes:build/test io.github.randflake.ClientTest
	$(TEST) ./clients/conformance

# Interpreters, compilers, and the servers that fork them.
languages: npm
	@(for tool in php ruby javac cc gunicorn uwsgi puma; do command -v $$tool || exit 1; done && ls /usr/sbin/php-fpm* && \
		php -m | grep -x apcu && php -m | grep -x curl) >/dev/null 2>&1 || \
		$(call install,php-cli php-apcu php-curl php-fpm ruby puma openjdk-17-jdk-headless gcc libc6-dev gunicorn uwsgi-core uwsgi-plugin-python3,,-o Dpkg::Options::=--force-unsafe-io)

# What programs in TypeScript import, as those of chaos/languages.
typescript: $(TYPESCRIPT)
$(TYPESCRIPT): clients/typescript/package-lock.json $(wildcard clients/typescript/*.json clients/typescript/cjs/*.json clients/typescript/src/*.ts) | node
	cd clients/typescript && $(NPM_CI) && npm run build

NPM_CI = npm ci --ignore-scripts --no-audit --no-fund

# Node 20, from npm where the machine has an older one, as Debian 12 does; then it comes first in PATH.
node: npm
	@node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' || (cd internal/tools/node && $(NPM_CI))

NODE = $(CURDIR)/internal/tools/node/node_modules/node-linux
export PATH := $(NODE)-x64/bin:$(NODE)-arm64/bin:$(PATH)

npm:
	@(for tool in npm python3 openssl; do command -v $$tool || exit 1; done) >/dev/null || \
		$(call install,npm python3 openssl,,-o Dpkg::Options::=--force-unsafe-io)

# Real processes, real stores, real faults, until a thousand million IDs are made; see chaos/README.md.
chaos: servers typescript
	cd chaos && LIFE=60s $(GO) test -v -run Life ./languages
	cd chaos && $(GO) run . -ids 1000000000 -results RESULTS.md

# Each fault on all of its stores.
chaos-short: servers
	cd chaos && $(GO) run . -short

# What runs randflaked: its image, for two architectures, into dist/image, and from there to the registry in IMAGE.
image:
	cd deploy && GOWORK=off $(GO) run . image -version $(or $(VERSION),$(shell git describe --always --dirty))

push: image
	cd deploy && GOWORK=off $(GO) run . push $(IMAGE)

PACKAGES = qemu-user binutils binutils-aarch64-linux-gnu
tools:
	@(for tool in qemu-x86_64 qemu-aarch64 qemu-s390x qemu-riscv64 qemu-arm objdump aarch64-linux-gnu-objdump; do \
		command -v $$tool || exit 1; done) >/dev/null || \
		$(call install,$(PACKAGES))

statistics:
	@command -v dieharder >/dev/null || $(call install,dieharder)

# curl is what docs/service.md calls randflaked by.
SERVERS = redis-server postgresql pgbouncer mariadb-server faketime curl
# Their packages would start servers of their own, which nobody needs here: RUNLEVEL=1 prevents that.
servers:
	@(command -v redis-server && command -v pgbouncer && command -v mariadbd && command -v faketime && command -v curl && ls /usr/lib/postgresql/*/bin/postgres) >/dev/null 2>&1 || \
		$(call install,$(SERVERS),RUNLEVEL=1)

# What looks at the service's page; 124 MB, installed in 22 s where the mirror is near.
browser:
	@command -v chromium >/dev/null || $(call install,chromium)

# Its package would start a server: see servers.
promtool:
	@command -v promtool >/dev/null || $(call install,prometheus,RUNLEVEL=1)

systemd:
	@command -v systemd-analyze >/dev/null || \
		$(call install,systemd)

lint: fmt vet staticcheck tidy buf generate api-check words

# Words that have another name now, and turns of phrase that take two readings; internal/tools/words lists them.
words:
	@git grep -nE -f internal/tools/words -- ':!CHANGELOG.md' ':!internal/tools/words' ':!*.java' ':!*.json' ':!*.svg' ':!*.sum'; test $$? -eq 1 # which is: none found

# What users import. A change of what it exports shows in the diff of docs/api.txt.
API     = . $(addprefix ./,compat compat/v2 counter counter/gapless lease link local mask metrics metrics/prom metrics/telemetry numbers randflaketest service/client snowflake snowflake/bases snowflake/guess store \
          store/etcdstore store/filestore store/mysqlstore store/pgstore store/redisstore store/sqlitestore store/storeurl ulid ulid/objectkey)
APILIST = $(GO) run ./internal/tools/apilist
api:
	$(APILIST) $(API) >docs/api.txt

api-check:
	$(APILIST) -check docs/api.txt $(API)

fmt:
	@files=$$(gofmt -l .) && test -z "$$files" || { echo "gofmt would change, or failed: $$files"; exit 1; }

vet:
	@set -e; for platform in $(PLATFORMS); do \
		echo "go vet for $$platform"; \
		CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/} $(GO) vet ./...; \
	done; \
	GOARCH=arm64 $(GO) vet -tags purego . ./ulid; \
	$(GO) vet -tags purego . ./ulid; \
	$(GO) vet $(EVERYTHING)
	@set -e; for module in $(APART); do (cd $$module && $(GO) vet ./...); done

staticcheck:
	$(STATICCHECK) $(EVERYTHING)
	@set -e; for module in $(APART); do (cd $$module && $(STATICCHECK) ./...); done

tidy:
	@set -e; for module in . $(MODULES) $(LATER) deploy; do \
		echo "go mod tidy in $$module"; \
		case $$module in cmd/*|service) internal/tools/tidy.sh $$module;; *) (cd $$module && $(GO) mod tidy -diff);; esac; \
	done

# Prepares a release in this checkout, and publishes nothing.
release:
	cd release && $(GO) run . $(VERSION)

# The opcodes that Go's assembler does not know must be those of the instructions beside them.
generate: tools
	$(GO) generate ./...

# buf and redocly come built, from npm: to build buf from empty caches takes five minutes of a processor.
BUF = $(CURDIR)/service/tools/node_modules/.bin/buf
$(BUF): service/tools/package-lock.json | npm
	cd service/tools && $(NPM_CI)
	@touch $@

# The style of service's protocol and of its OpenAPI document, and that nothing is taken back that was released.
buf: $(BUF) node
	cd service/api && $(BUF) lint
	cd service/api && REDOCLY_TELEMETRY=off $(dir $(BUF))redocly lint openapi.yaml
	service/api/breaking.sh $(BUF)

# The code of service's protocol, and its OpenAPI document.
protocol: $(BUF)
	cd service/api && GOWORK=off $(BUF) generate
	cd service/api && GOWORK=off $(BUF) generate --template buf.gen.short.yaml
	@$(MAKE) --no-print-directory buf

# Every backend against the oracle on SOAK pairs of key and block, and eight goroutines that make an
# eighth of SOAK sortable IDs each under every policy; 10^8 take some minutes.
SOAK ?= 100000000
soak:
	$(GO) test -run '^TestSoak$$' -v -timeout 2h . -soak $(SOAK)
	$(GO) test -run '^TestConcurrent' -timeout 2h ./snowflake -ids $$(($(SOAK) / 8))

# For hours: all backends against the oracle, then every fuzz target for a while. A failure tells CPU, backend and seed, or the
# file in testdata/fuzz that repeats it.
fuzz-night:
	@$(MAKE) --no-print-directory soak SOAK=1000000000
	@$(MAKE) --no-print-directory fuzz FUZZTIME=5m

# Peers side by side, pictures and statistics, into a new directory in bench/out; see bench/README.md. Nothing else
# should run meanwhile. BENCHFLAGS=-quick takes under three minutes; BENCHFLAGS=-write refreshes the documentation.
bench: statistics servers
	cd bench && $(GO) run . $(BENCHFLAGS)

fuzz:
	@set -e; for dir in $$($(GO) list -f '{{.Dir}}' $(EVERYTHING)); do \
		for target in $$(grep -hos '^func Fuzz[A-Za-z0-9_]*' $$dir/*_test.go | sed 's/^func //'); do \
			echo "$$target"; $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$dir; \
		done; \
	done
