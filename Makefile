# Targets install what they need beyond Go, git and make, on Debian as root; CONTRIBUTING.md says what each one proves.

ifneq ($(words $(CURDIR)),1)
$(error make can't handle white space in a path: move this checkout away from "$(CURDIR)")
endif
unexport GOWORK
# The compiler collects no garbage below 2 GB, which is a fifth faster. Only the race detector needs C. What else changes how packages
# are compiled, such as -trimpath, would have them compiled twice, as go tool knows no such flag.
export GOFLAGS     := '-toolexec=env GOGC=off GOMEMLIMIT=2GiB' $(filter-out -mod=%,$(GOFLAGS))
export CGO_ENABLED := 0
race race-all: export CGO_ENABLED := 1

# Node 20 comes from npm where the machine has an older one, as Debian 12 does.
NODE = $(CURDIR)/internal/tools/node/node_modules/node-linux
export PATH := $(NODE)-x64/bin:$(NODE)-arm64/bin:$(PATH)

GO       ?= go
FUZZTIME ?= 30s
EXPLORE  ?= 20s
NEWER     = go1.27.4
LOGS      = $(CURDIR)/dist/tests
NPM_CI    = npm ci --ignore-scripts --no-audit --no-fund

# The modules of the workspace, and lab, which is apart: see go.work.
EVERYTHING := $(shell $(GO) list -m -f '{{.Dir}}/...')
LAB         = cd lab && GOWORK=off
STATICCHECK = $(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2
# Logs have the name of their target, so that summary.sh sees which ones ran, and says at the end what failed. The time is for slow
# machines. Results of earlier runs don't count: the go command does not see that a test of one module reads pages, or runs programs,
# of another.
TEST = $(CURDIR)/bin/gotestsum --format pkgname --hide-summary=$(or $(HIDDEN),skipped) \
	--jsonfile $$(mktemp $(LOGS)/$@-XXXXXX.json) -- -vet=off -count=1 -timeout 30m

# What depends on word size, byte order or architecture; where goroutines meet; platforms that no test runs on, and arm64's assembly.
PORTABLE   = . ./compat ./compat/sparx64 ./compat/v2 ./lease ./lease/file ./counter ./internal/ff1 ./link ./mask ./ulid ./ulid/objectkey
CONCURRENT = . ./compat/bwmarrin ./compat/sonyflake ./counter ./counter/numbers ./lease ./lease/file ./lease/local ./snowflake ./ulid \
	./internal/coarse ./internal/queue
PLATFORMS  = linux/arm64 darwin/arm64 windows/amd64 freebsd/amd64 js/wasm
# CPUs that this machine is not: without AVX-512, without AVX2, without SVE, and with SVE2 of 128, 256 and 512 bits.
SVE2       = cpu-sve2-1 cpu-sve2-2 cpu-sve2-4
CPUS       = cpu-avx2 cpu-nehalem cpu-neon $(SVE2)
EMULATED   = emulated-s390x emulated-arm emulated-riscv64 emulated-arm64

# test is what a contributor runs, check the same code elsewhere and under faults. REQUIRED names tests that must not be skipped.
IN_test  = ordinary explore race clients
IN_check = prove planted chaos-short race-all deploy rehearsal $(EMULATED) $(CPUS) browser elsewise i386
IN_lint  = fmt vet staticcheck imports tidy generate words workflows promises budget

.PHONY: all test check lint $(IN_test) $(IN_check) $(IN_lint) chaos protocol release bench fuzz soak servers tools languages node helm gotestsum built

all: test check lint
lint: $(IN_lint)
test: servers languages
check: servers tools
test check: gotestsum
	@rm -rf $(LOGS) && mkdir -p $(LOGS)
	@$(MAKE) --no-print-directory --keep-going --jobs=2 HIDDEN=all $(IN_$@:%=shown-%) && failed=0 || failed=1; \
		internal/tools/summary.sh $(LOGS) "$(IN_$@)" $(REQUIRED) && exit $$failed
# What a target prints, each line at once and after its name, as two run at a time.
shown-%:
	@{ $(MAKE) --no-print-directory $* 2>&1 || echo $$? >$(LOGS)/$*.failed; } | tee $(LOGS)/$*.out | sed -u 's/^/$*: /'; \
		test ! -e $(LOGS)/$*.failed

gotestsum:
	@mkdir -p $(LOGS) && GOBIN=$(CURDIR)/bin $(GO) install gotest.tools/gotestsum@v1.13.0
servers tools languages:
	@internal/tools/install.sh $@
node: languages
	node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' || (cd internal/tools/node && $(NPM_CI))
helm:
	GOWORK=off GOBIN=$(CURDIR)/bin $(GO) install helm.sh/helm/v3/cmd/helm@v3.20.2

# Every package as users build it, on real servers, which the tests start on free ports and in temporary directories.
ordinary: gotestsum servers languages built
	$(TEST) -p 3 $(EVERYTHING)
	$(LAB) $(TEST) ./decoders ./etcd ./gapless ./readers ./s3 ./upgrade ./upstream
# What tests run or compile besides, made once and apart from them: from empty caches it takes minutes, which count as a test's.
built:
	cd lab && GOWORK=off $(GO) tool -n go.etcd.io/etcd/server/v3 >/dev/null
	cd lab/s3/versitygw && GOWORK=off $(GO) tool -n github.com/versity/versitygw/cmd/versitygw >/dev/null
	cd examples/databases && export GOWORK=off && $(GO) tool -n ent >/dev/null && \
		$(GO) build ./entschema entgo.io/ent/dialect/sql/schema github.com/jackc/pgx/v5/stdlib
	$(GO) build -o /dev/null ./cmd/randflake
race: gotestsum
	$(TEST) -race -short $(CONCURRENT)
# Random schedules of a few processes with leases and counters, for EXPLORE each set of moves; the largest rushes; each second of a loss.
explore: gotestsum
	$(TEST) -run '^Test(Explore|Chains|Rush|Reserve)$$' -timeout 0 ./lease -explore $(EXPLORE)

# The service's clients in other languages: their own tests, and one suite for all, as packages in empty projects.
clients: gotestsum node
	cd service/clients/python && python3 -m unittest -q tests.test_client
	cd service/clients/typescript && $(NPM_CI) && npm run build && npm test
	cd service/clients/java && javac -encoding UTF-8 --release 17 -d build/classes $$(find src -name '*.java') && \
		javac -encoding UTF-8 --release 17 -cp build/classes -d build/test $$(find test -name '*.java') && \
		java -cp build/classes:build/test io.github.randflake.ClientTest
	$(LAB) RANDFLAKE_LANGUAGES=all $(TEST) ./clients

prove: gotestsum tools
	$(LAB) $(TEST) -timeout 0 ./prove
# Each bug of lab/planted must be found by the test that it names.
planted: gotestsum
	$(LAB) $(TEST) -count=1 -parallel 2 -timeout 0 ./planted
# With the race detector what race, which is of test, leaves out.
race-all: gotestsum servers
	$(TEST) -race -short $$($(GO) list -race ./... | grep -vxF "$$($(GO) list $(CONCURRENT))")
	$(TEST) -race ./service/...
elsewise: gotestsum
	$(TEST) -tags purego .
	$(TEST) -tags uncached -run TestUncached ./internal/coarse
	$(GO) vet -tags uncached . ./snowflake ./ulid ./internal/...
	GOTOOLCHAIN=$(NEWER) $(TEST) -short ./...
# Not every kernel runs programs of 32 bits, and qemu-i386 does not run Go: emulated-arm has words as short.
i386: gotestsum
	@set -e; export GOARCH=386; $(GO) vet $(PORTABLE) ./snowflake; \
		if $(GO) test -run '^$$' ./internal/coarse >/dev/null 2>&1; \
		then $(TEST) -short $(PORTABLE) ./snowflake; \
		else echo "skipped: 386: this kernel does not run programs of 32 bits" >$(LOGS)/$@.note; fi

comma = ,
on    = RANDFLAKE_BACKENDS="$(3)" GOARCH=$(1) $(TEST) -short -exec "$(2)" .
cpu-avx2:;    $(call on,amd64,qemu-x86_64 -cpu max,avx2 generic)
cpu-nehalem:; $(call on,amd64,qemu-x86_64 -cpu Nehalem,generic)
cpu-neon:;    $(call on,arm64,qemu-aarch64 -cpu cortex-a72,neon generic)
# A static pattern: an implicit rule is not looked for where a target is phony.
$(SVE2): cpu-sve2-%:; $(call on,arm64,qemu-aarch64 -cpu max$(comma)sve-max-vq=$*,sve2 neon generic)
$(CPUS) $(EMULATED): gotestsum tools
$(EMULATED): emulated-%:
	GOARCH=$* $(TEST) -short -exec qemu-$(or $(QEMU),$*) $(PACKAGES)
emulated-s390x emulated-arm: PACKAGES = $(PORTABLE)
emulated-riscv64: PACKAGES = . ./compat ./mask ./ulid
emulated-arm64:   PACKAGES = $(filter-out .,$(PORTABLE))
emulated-arm64:   QEMU = aarch64

# What runs randflaked: the chart as Kubernetes gets it, systemd's unit, when each alert fires and when it does not.
deploy: tools helm
	HELM=$(CURDIR)/bin/helm service/deploy/check.sh
	@mkdir -p $(LOGS) && echo "deploy: unit, alerts, dashboards and chart are right" >$(LOGS)/$@.note
# A release of HEAD, as its users will meet it.
rehearsal: servers node helm
	HELM=$(CURDIR)/bin/helm internal/tools/rehearsal.sh
	@mkdir -p $(LOGS) && echo "rehearsal: what the pages say works from empty caches" >$(LOGS)/$@.note
browser: gotestsum tools
	$(LAB) $(TEST) ./browser
# Real processes, real stores, real faults: each fault once on its engines; or until a thousand million IDs are made, after the
# engines' suite on a real API server of Kubernetes, which takes minutes to build.
chaos-short: gotestsum servers
	$(LAB) $(TEST) -short -parallel 8 ./chaos
chaos: gotestsum servers
	$(LAB) $(TEST) ./kubernetes
	$(LAB) $(GO) test -v -parallel 8 -timeout 0 ./chaos -ids 1000000000

fmt:
	@files=$$(gofmt -l .) && test -z "$$files" || { echo "gofmt would change, or failed: $$files"; exit 1; }
vet:
	@set -e; for platform in $(PLATFORMS); do echo "go vet for $$platform"; \
		GOOS=$${platform%/*} GOARCH=$${platform#*/} $(GO) vet ./...; done
	GOARCH=arm64 $(GO) vet -tags purego . && $(GO) vet -tags purego .
	$(GO) vet $(EVERYTHING) && $(LAB) $(GO) vet ./...
staticcheck:
	$(STATICCHECK) $(EVERYTHING) && $(LAB) $(STATICCHECK) ./...
# What users link with their unit tests starts no programs, and speaks to no database.
imports:
	@linked=$$($(GO) list -deps ./lease/randflaketest ./lease/leasetest) && ! echo "$$linked" | grep -xE 'os/exec|database/sql|.*/(gapless|servers)'
tidy:
	@set -e; for module in $$(git ls-files go.mod '*/go.mod'); do internal/tools/tidy.sh $$(dirname $$module); done
words:
	@git grep -nE -f internal/tools/words -- ':!CHANGELOG.md' ':!internal/tools/words' ':!*.java' ':!*.json' ':!*.svg' ':!*.sum'; test $$? -eq 1
workflows:
	$(GO) run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
# What the first tag freezes, as lists; CONTRIBUTING.md says how to update them.
promises:
	$(LAB) $(GO) test -count=1 ./promises
budget:
	@internal/tools/count.sh -check
# The opcodes that Go's assembler does not know must be those of the instructions beside them.
generate: tools
	$(GO) generate ./...
# The Go code of the service's protocol, by protoc of the system and plugins of the go command.
protocol:
	cd service/client/api && export GOWORK=off dir=$$(mktemp -d) && for plugin in protoc-gen-go protoc-gen-connect-go; do \
		printf '#!/bin/sh\nexec go tool -modfile=../../tools/plugins.mod %s\n' $$plugin >$$dir/$$plugin && chmod +x $$dir/$$plugin || exit; done && \
	PATH=$$dir:$$PATH protoc -I. --go_out=. --go_opt=paths=source_relative --connect-go_out=. --connect-go_opt=paths=source_relative,simple randflake/v1/*.proto

# Writes a version into all modules, and says which tags are left to make: make release VERSION=v0.1.0
release:
	internal/tools/release.sh $(VERSION)
bench:
	cd bench && $(GO) run .
fuzz:
	@set -e; for dir in $$($(GO) list -f '{{.Dir}}' $(EVERYTHING)); do \
		for target in $$(grep -hos '^func Fuzz[A-Za-z0-9_]*' $$dir/*_test.go | sed 's/^func //'); do \
			echo "$$target"; $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$dir; done; done
# Every backend against the oracle on 10^8 pairs of key and block, and as many sortable IDs.
soak:
	$(GO) test -run '^TestSoak$$' -v -timeout 2h . -soak 100000000 && $(GO) test -run '^TestConcurrent' -timeout 2h ./snowflake -ids 12500000
