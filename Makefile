# Targets install what they need beyond Go, git and make, on Debian as root; CONTRIBUTING.md says what each proves.

ifneq ($(words $(CURDIR)),1)
$(error make can't handle white space in a path: move this checkout away from "$(CURDIR)")
endif
unexport GOWORK
export GOFLAGS := $(filter-out -mod=%,$(GOFLAGS))

GO       ?= go
FUZZTIME ?= 30s
EXPLORE  ?= 4s
NEWER     = go1.27.4
LOGS      = $(CURDIR)/dist/tests

# The modules of the workspace, and lab, which is apart: see go.work.
EVERYTHING := $(shell $(GO) list -m -f '{{.Dir}}/...')
LAB         = cd lab && GOWORK=off
STATICCHECK = $(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2
TEST        = $(CURDIR)/bin/gotestsum --format pkgname --jsonfile $$(mktemp $(LOGS)/XXXXXX.json) -- -vet=off

# What depends on word size, byte order or architecture; where goroutines meet; platforms that no test runs on, and arm64's assembly.
PORTABLE   = . ./compat ./compat/v2 ./store ./store/filestore ./lease ./counter ./numbers/ff1 ./link ./mask ./ulid ./ulid/objectkey
CONCURRENT = . ./counter ./lease ./local ./numbers ./snowflake ./store ./store/filestore ./ulid ./internal/coarse ./internal/queue
PLATFORMS  = linux/arm64 darwin/arm64 windows/amd64 freebsd/amd64 js/wasm

# CPUs that this machine is not: without AVX-512, without AVX2, without SVE, and with SVE2 of 128 and 512 bits.
CPUS     = cpu-avx2 cpu-nehalem cpu-neon cpu-sve2-128 cpu-sve2-512
EMULATED = emulated-s390x emulated-arm emulated-riscv64 emulated-arm64

.PHONY: all test check lint $(CPUS) $(EMULATED) ordinary race explore clients prove purego newer i386 race-all deploy browser chaos-short \
        chaos fmt vet staticcheck tidy buf words budget generate protocol bench fuzz soak api servers tools languages node gotestsum

all: test check lint

# test is what a contributor runs, check the same code elsewhere and under faults. REQUIRED names tests that must not be skipped.
IN_test  = ordinary race explore clients
IN_check = $(CPUS) $(EMULATED) prove purego newer i386 race-all deploy browser chaos-short

test: servers languages
check: servers tools
test check: gotestsum
	@rm -rf $(LOGS) && mkdir -p $(LOGS)
	@$(MAKE) --no-print-directory --keep-going --jobs=2 --output-sync $(IN_$@) && ok=0 || ok=1; internal/skipped.sh $(LOGS) $(REQUIRED) && exit $$ok

gotestsum:
	@mkdir -p $(LOGS) && GOBIN=$(CURDIR)/bin $(GO) install gotest.tools/gotestsum@v1.13.0

# Every package as users build it, on real servers, which the tests start on free ports and in temporary directories.
ordinary: gotestsum servers
	$(TEST) -p 3 $(EVERYTHING)
	$(LAB) $(TEST) ./etcd ./s3 ./upstream

race: gotestsum
	$(TEST) -race -short $(CONCURRENT)

# Every schedule of a few processes with leases and counters, for EXPLORE each of about thirty sets of moves.
explore: gotestsum
	$(TEST) -run '^TestExplore$$' -timeout 0 ./store -explore $(EXPLORE)

# The service's clients in other languages: their own tests, and one suite for all.
clients: gotestsum languages
	cd clients/python && python3 -m unittest discover -q -t . -s tests
	cd clients/typescript && npm ci --ignore-scripts --no-audit --no-fund && npm run build && npm test
	cd clients/php && php tests/run.php
	cd clients/ruby && ruby test/run.rb
	cd clients/java && javac --release 17 -d build/classes $$(find src -name '*.java') && \
		javac --release 17 -cp build/classes -d build/test $$(find test -name '*.java') && \
		java -cp build/classes:build/test io.github.randflake.ClientTest
	$(LAB) RANDFLAKE_LANGUAGES=all $(TEST) ./clients

# Proofs that the cipher's machine code computes what the paper says, in time that depends on neither key nor data.
prove: gotestsum tools
	$(LAB) $(TEST) -count=1 -timeout 0 ./prove

purego: gotestsum
	$(TEST) -tags purego . ./ulid

newer: gotestsum
	GOTOOLCHAIN=$(NEWER) $(TEST) -short ./...
	GOTOOLCHAIN=$(NEWER) $(GO) vet ./...

# Not every kernel runs programs of 32 bits, and qemu-i386 does not run Go: emulated-arm has words as short.
i386: export GOARCH = 386
i386: gotestsum
	@if CGO_ENABLED=0 $(GO) test -run '^$$' ./internal/coarse >/dev/null 2>&1; then CGO_ENABLED=0 $(TEST) -short $(PORTABLE) ./snowflake; \
		else echo "skipped: 386: this kernel does not run programs of 32 bits"; CGO_ENABLED=0 $(GO) vet $(PORTABLE) ./snowflake; fi

on = RANDFLAKE_BACKENDS="$(3)" CGO_ENABLED=0 GOARCH=$(1) $(TEST) -short -exec "$(2)" .
cpu-avx2: gotestsum tools;     $(call on,amd64,qemu-x86_64 -cpu max,avx2 generic)
cpu-nehalem: gotestsum tools;  $(call on,amd64,qemu-x86_64 -cpu Nehalem,generic)
cpu-neon: gotestsum tools;     $(call on,arm64,qemu-aarch64 -cpu cortex-a72,neon generic)
cpu-sve2-128: gotestsum tools; $(call on,arm64,qemu-aarch64 -cpu max$(comma)sve-max-vq=1,sve2 neon generic)
cpu-sve2-512: gotestsum tools; $(call on,arm64,qemu-aarch64 -cpu max$(comma)sve-max-vq=4,sve2 neon generic)
comma := ,

$(EMULATED): emulated-%: gotestsum tools
	CGO_ENABLED=0 GOARCH=$* $(TEST) -short -exec $(EMULATOR) $(PACKAGES)
emulated-arm64:   EMULATOR = qemu-aarch64
emulated-s390x:   EMULATOR = qemu-s390x
emulated-riscv64: EMULATOR = qemu-riscv64
emulated-arm:     EMULATOR = qemu-arm
emulated-s390x emulated-arm: PACKAGES = $(PORTABLE)
emulated-riscv64: PACKAGES = . ./compat ./mask ./ulid
emulated-arm64:   PACKAGES = $(filter-out .,$(PORTABLE))

race-all: gotestsum servers
	$(TEST) -race -short ./...
	$(TEST) -race -run TestKeepersProperty ./lease
	$(TEST) -race ./service/...

# What runs randflaked: the chart as Kubernetes gets it, systemd's unit, when each alert fires and when it does not.
deploy: tools
	deploy/check.sh

browser: gotestsum tools
	$(LAB) $(TEST) ./browser

# Real processes, real stores, real faults: each fault once on its engines, or until a thousand million IDs are made.
chaos-short: gotestsum servers
	$(LAB) $(TEST) ./chaos/...
	$(LAB) $(GO) run ./chaos -short

chaos: servers
	$(LAB) $(GO) run ./chaos -ids 1000000000

lint: fmt vet staticcheck tidy buf generate words budget

fmt:
	@files=$$(gofmt -l .) && test -z "$$files" || { echo "gofmt would change, or failed: $$files"; exit 1; }

vet:
	@set -e; for platform in $(PLATFORMS); do echo "go vet for $$platform"; \
		CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/} $(GO) vet ./...; done
	GOARCH=arm64 $(GO) vet -tags purego . ./ulid
	$(GO) vet -tags purego . ./ulid
	$(GO) vet $(EVERYTHING)
	$(LAB) $(GO) vet ./...

staticcheck:
	$(STATICCHECK) $(EVERYTHING)
	$(LAB) $(STATICCHECK) ./...

tidy:
	@set -e; for module in $$(git ls-files go.mod '*/go.mod'); do internal/tools/tidy.sh $$(dirname $$module); done

# Words that have another name now, and turns of phrase that take two readings.
words:
	@git grep -nE -f internal/tools/words -- ':!CHANGELOG.md' ':!internal/tools/words' ':!*.java' ':!*.json' ':!*.svg' ':!*.sum'; test $$? -eq 1 # none found

# A folder's lines and words stay within internal/budget, which falls unless the commit says why it rises; and no folder has more
# lines of tests than of code, without the prover and the explorer.
budget:
	@internal/count.sh -check

# The opcodes that Go's assembler does not know must be those of the instructions beside them.
generate: tools
	$(GO) generate ./...

# The style of the service's protocol and of its OpenAPI document. buf and redocly come built, from npm.
BUF = $(CURDIR)/service/tools/node_modules/.bin/buf
$(BUF): service/tools/package-lock.json | languages
	cd service/tools && npm ci --ignore-scripts --no-audit --no-fund && touch $@
buf: $(BUF)
	cd service/api && $(BUF) lint && REDOCLY_TELEMETRY=off $(dir $(BUF))redocly lint openapi.yaml

protocol: $(BUF)
	cd service/api && GOWORK=off $(BUF) generate && GOWORK=off $(BUF) generate --template buf.gen.short.yaml

bench:
	cd bench && $(GO) run .

fuzz:
	@set -e; for dir in $$($(GO) list -f '{{.Dir}}' $(EVERYTHING)); do \
		for target in $$(grep -hos '^func Fuzz[A-Za-z0-9_]*' $$dir/*_test.go | sed 's/^func //'); do \
			echo "$$target"; $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$dir; done; done

# Every backend against the oracle on 10^8 pairs of key and block, which take some minutes, and as many sortable IDs.
soak:
	$(GO) test -run '^TestSoak$$' -v -timeout 2h . -soak 100000000
	$(GO) test -run '^TestConcurrent' -timeout 2h ./snowflake -ids 12500000

# What changed in the API since the newest release.
api:
	$(GO) run golang.org/x/exp/cmd/gorelease@latest

servers tools:
	@internal/install.sh $@

# Node 20 comes from npm where the machine has an older one, as Debian 12 does; then it comes first in PATH.
NODE = $(CURDIR)/internal/tools/node/node_modules/node-linux
export PATH := $(NODE)-x64/bin:$(NODE)-arm64/bin:$(PATH)
languages:
	@internal/install.sh $@
	@node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' || (cd internal/tools/node && npm ci --ignore-scripts --no-audit --no-fund)
