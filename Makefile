# What one does with this repository. `make` alone lists the targets.

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

# duckdb_arrow brings DuckDB's Arrow interface. mold links the static DuckDB in a fifth of the time, where it is installed.
TAGS    := -tags duckdb_arrow
LINKER  := $(if $(shell command -v mold 2>/dev/null),-extldflags=-fuse-ld=mold)
LDFLAGS := -ldflags "$(LINKER)"
GO      := CGO_ENABLED=1 go
TOOL    := go tool -modfile=tools/go.mod
BUF     := $(TOOL) buf

# golangci-lint is a program of its own, with many dependencies: it is pinned here, not in a go.mod.
GOLANGCI_VERSION := v2.15.0
GOLANGCI         := bin/tools/golangci-lint-$(GOLANGCI_VERSION)

# What buf compares the wire messages with: those of the latest release, and of the commit before. (The first commit has
# nothing before it.)
BASELINE := proto/baseline.binpb
BASE ?= $(shell git rev-parse --verify --quiet HEAD~1 2>/dev/null)

# The scale factors of `make run` and of `make bench`.
RUN_SF   ?= 0.1
BENCH_SF ?= 1
# Which benchmarks of tests/bench `make bench` runs, and further flags for them.
BENCH      ?= .
BENCH_ARGS ?=

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.PHONY: build
build: ## Build bin/serac
	$(GO) build $(TAGS) -buildvcs=false -ldflags "$(LINKER) -X main.version=$(VERSION)" -o bin/serac ./cmd/serac

.PHONY: run
run: build ## Show it at work: a scheduler, two executors, TPC-H-like data, four queries
	$(GO) build $(TAGS) -buildvcs=false $(LDFLAGS) -o bin/tpch ./examples/tpch
	bin/tpch -serac bin/serac -sf $(RUN_SF)

.PHONY: test
test: build ## Run the tests
	SERAC_TEST_BINARY=$(CURDIR)/bin/serac $(GO) test $(TAGS) $(LDFLAGS) -timeout 30m ./...

.PHONY: test-all
test-all: build ## Run the tests, also those that take long or need other programs (TPC-H's published answers, PyIceberg)
	SERAC_TEST_BINARY=$(CURDIR)/bin/serac SERAC_TEST_ALL=1 $(GO) test $(TAGS) $(LDFLAGS) -timeout 120m ./...
	$(GO) test $(TAGS) $(LDFLAGS) -race -timeout 60m ./codec/... ./wire/...

.PHONY: bench
bench: build ## Measure Serac against DuckDB alone, as ratios
	SERAC_TEST_BINARY=$(CURDIR)/bin/serac $(GO) test $(TAGS) $(LDFLAGS) -timeout 60m -run '^$$' -bench '$(BENCH)' -benchtime 1x ./tests/bench -sf $(BENCH_SF) $(BENCH_ARGS)
	$(GO) test $(TAGS) $(LDFLAGS) -run '^$$' -bench Plan -benchtime 5x ./iceberg/scan

.PHONY: bench-codec
bench-codec: ## Measure plans and file tasks on the wire, beside iceberg-go's own codec
	$(GO) test $(TAGS) $(LDFLAGS) -timeout 30m -run '^$$' -bench '^BenchmarkCodec$$' -benchtime 1x ./tests/bench

# Each fuzz target, as package/target. A test (tests/house) holds the list against the code.
FUZZTIME ?= 1m
FUZZ := \
	codec/FuzzDecodeFragment codec/FuzzPlanMessage \
	wire/FuzzTable wire/FuzzStorage wire/FuzzFailure wire/FuzzFileGroup \
	executor/task/FuzzLeafAssignment executor/flight/FuzzFlightTicket executor/FuzzAttachResponse \
	scheduler/cluster/FuzzAttachRequest scheduler/cluster/FuzzTaskStatus \
	iceberg/commit/FuzzDataFile iceberg/read/FuzzFileGroup \
	plan/FuzzParseType \
	scheduler/sql/FuzzParse scheduler/sql/FuzzSplit scheduler/sql/FuzzBindParameters

.PHONY: fuzz
fuzz: ## Fuzz all that is read from outside, FUZZTIME each (FUZZTIME=10m; FUZZ=codec/FuzzPlanMessage for one)
	@log=$$(mktemp); for target in $(FUZZ); do \
		$(GO) test $(TAGS) $(LDFLAGS) -run '^$$' -fuzz "^$${target##*/}$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 500x -parallel 1 ./$${target%/*} 2>&1 | tee $$log; \
		$(FUZZ_CLEAN) $$log || exit 1; done

# Go before 1.27 may report the end of the time as a failure, "context deadline exceeded" (golang/go#75804). What it finds is
# a failing input, and that is told.
FUZZ_CLEAN := awk '/^ok|^    context deadline exceeded$$/ {ended=1} /Failing input/ {found=1} END {exit found || !ended}'

N    ?= 2000
SEED ?= $(shell date +%s)

.PHONY: fuzz-sql
fuzz-sql: build ## Hold N random queries (N=10000 SEED=1) against DuckDB's answers, in process and on two executors
	SERAC_TEST_BINARY=$(CURDIR)/bin/serac $(GO) test -v $(TAGS) $(LDFLAGS) -timeout 24h -run 'TestRandomQueries|TestFoundQueries' ./tests/fuzz -queries $(N) -seed $(SEED)

.PHONY: fmt
fmt: $(GOLANGCI) ## Format the Go code
	$(GOLANGCI) fmt

.PHONY: fmt-check
fmt-check:
	@files=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$files" || { echo "not formatted (make fmt):" $$files; exit 1; }

.PHONY: vet
vet:
	$(GO) vet $(TAGS) ./...

.PHONY: lint
lint: $(GOLANGCI) ## Run the linters
	$(GOLANGCI) run

$(GOLANGCI):
	GOBIN=$(CURDIR)/bin/tools GOFLAGS= go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv bin/tools/golangci-lint $(GOLANGCI)

.PHONY: proto
proto: ## Generate the Go code of the wire messages
	$(BUF) generate
	cd examples/customformat && $(subst tools/,../../tools/,$(BUF)) generate

.PHONY: proto-check
proto-check: ## Check that the wire messages are in order and their Go code is current
	$(BUF) lint
	$(BUF) breaking --against $(BASELINE)
	@generated=$$(mktemp -d) && $(BUF) generate -o "$$generated" && \
		diff -r -x '*.proto' -x doc.go -x $(notdir $(BASELINE)) proto "$$generated/proto"; status=$$?; rm -rf "$$generated"; \
		test $$status = 0 || { echo "the generated code is not current: make proto"; exit 1; }
ifneq ($(BASE),)
	$(BUF) breaking --against '.git#ref=$(BASE)'
endif

.PHONY: proto-baseline
proto-baseline: ## Note the wire messages of a release, which later ones must stay compatible with
	$(BUF) build --exclude-source-info -o $(BASELINE)

.PHONY: ci
ci: proto-check fmt-check vet lint test ## Everything that must pass before a change lands

.PHONY: clean
clean: ## Remove what was built
	rm -rf bin
