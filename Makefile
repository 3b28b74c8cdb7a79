# replayd: everything a contributor runs. `make help` lists the targets.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS   += --warn-undefined-variables --no-builtin-rules --no-print-directory
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

GO    ?= go
TOOLS := .cache/bin

# Everything is compiled with Go's own JSON in the place of a library that Arrow would bring along: that library takes an eighth of the time
# to compile and 1.4 MB of each program, and nothing here needs it.
TAG   := arrow_json_stdlib
GOFLAGS ?=
export GOFLAGS := $(if $(filter -tags=%,$(GOFLAGS)),,-tags=$(TAG)) $(GOFLAGS)

# What to narrow by hand: make test PKG=./decoders/..., make bench BENCH=Decode.
PKG       ?= ./...
# How long to fuzz each target; and all of them together, when that is shorter.
FUZZTIME  ?= 20s
FUZZTOTAL ?=
# Which benchmarks to run, a regular expression.
BENCH     ?= .

# Packages whose goroutines share memory are tested with the race detector: all but ALONE, in which one thing happens after the
# other, and WHOLE, whose tests ask a whole daemon. Of these, SHARING names the tests that are for what is shared: compiled schemas,
# unpacking and reading ahead; streams, followers and uploads. `make race` has all packages. Tests that take long do less with
# the detector, or are skipped: .ci/long names those of the other packages, which are tested without it, too.
ALONE   := /(bench|clients/(go/dem|same)|cmd/(internal/terminal|replayd)|decoders|docs|examples|internal/(frozen|natsconn|nearest)|packaging|proto|replay|service/(describe|streamtest)|testdata|tools)(/|$$)
WHOLE   := /(service|cmd/(replayd-(fleet|ship)|internal/(agent|command|demo)))$$
SHARING := -run 'Shared|Sample$$|Golden|ReadAhead|ByMany|ComeAndGo|RandomRequests$$|Stalled|Upload|Follow' ./decoders/dem ./decoders/sc2replay ./replay/source ./service

# Packages are tested in this order, those that take longest first: as many at a time as there are processors, and one more, since tests
# wait.
FIRST   := ./cmd/internal/command ./cmd/replayd-fleet ./service ./decoders/dem

# The race detector takes a C compiler.
RACE := $(if $(shell command -v $${CC:-gcc} || true),-race)

comma := ,

# Modules beside the daemon's that have tests of their own.
MODULES := $(filter-out tools/proto/ tools/lint/ tools/release/,$(dir $(wildcard */go.mod */*/go.mod)))

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The daemon does not wait for grpcurl, which takes longer to build than all of replayd.
GRPCURL := github.com/fullstorydev/grpcurl/cmd/grpcurl

# One program, compiled as tests are: with the profile, or replayd-fleet, the first start would take minutes.
.PHONY: run
run: ## Start the daemon on the bundled samples; it prints lines to try
	$(GO) build -pgo=off -trimpath -ldflags=-w -gcflags=all=-dwarf=false -o bin/ ./cmd/replayd
	@[[ -x $(TOOLS)/grpcurl ]] || echo "grpcurl is being built meanwhile; the lines that call it work in a minute or so."
	@$(GO) build -C tools/proto -o $(CURDIR)/$(TOOLS)/grpcurl $(GRPCURL) & exec bin/replayd demo --grpcurl $(TOOLS)/grpcurl

.PHONY: build
build: ## Build bin/replayd and bin/replayd-fleet
	$(GO) build -o bin/ ./cmd/replayd ./cmd/replayd-fleet

# The profile by which the compiler optimises the daemon: go build takes it by itself. It is that of the benchmarks of decoding
# and encoding, of which each runs about as long; it needs the corpus.
.PHONY: pgo
pgo: ## Write cmd/replayd/default.pgo again
	mkdir -p .cache/pgo
	profile() { $(GO) test -run '^$$' -bench "$$2" -benchtime "$$3" -cpu 1 -o .cache/pgo/test -cpuprofile .cache/pgo/$$1.pprof ./$$1; }; \
	mkdir -p .cache/pgo/replay/codec; \
	profile replay/codec/dem Fill/all 6x; \
	profile replay/codec/sc2replay Fill 3x; \
	profile service/stream 'Stream/all|Tables/(six|all)Narrow' 6x
	$(GO) tool pprof -proto $$(find .cache/pgo -name '*.pprof') >cmd/replayd/default.pgo

# With -json, for the report at the end. All of them run even after one has failed. Without debugging information programs
# are compiled in six sevenths of the time and link in two thirds; without the profile nothing is compiled a second time; without paths
# what was compiled in another clone serves; go vet is a part of make lint.
TESTS := -json -p $(shell echo $$(($$(nproc 2>/dev/null || echo 2) + 1))) -timeout 15m -ldflags=-w -gcflags=all=-dwarf=false -pgo=off -trimpath -vet=off

# Tests soon drop most of what they allocate, and collecting it took a quarter of their processor time. So garbage is collected a fourth as
# often. Tests that measure a heap set the percentage that they need, and programs that tests start do not inherit this one (commandtest).
test: export GOGC := 400

.PHONY: test
test: ## Run the tests, with the race detector where goroutines share memory and there is a C compiler
ifeq ($(PKG),./...)
	$(GO) build -o .cache/testreport ./tools/testreport
	packages=$$($(GO) list $(FIRST) ./...); failed=0; { \
		$(GO) test $(TESTS) $$(.ci/long) || failed=1; \
		$(GO) test $(TESTS) $$(grep -E '$(ALONE)|$(WHOLE)' <<<"$$packages") || failed=1; \
		$(GO) test $(TESTS) $(RACE) -short $(SHARING) || failed=1; \
		$(GO) test $(TESTS) $(RACE) -short $$(grep -vE '$(ALONE)|$(WHOLE)' <<<"$$packages") || failed=1; \
		for module in $(MODULES); do $(GO) test -C "$$module" $(TESTS) ./... || failed=1; done; \
		exit $$failed; \
	} | .cache/testreport
else
	$(GO) test $(RACE) -timeout 30m $(PKG)
endif

.PHONY: race
race: ## Run all tests with the race detector, as each night does
	$(GO) build -o .cache/testreport ./tools/testreport
	$(GO) test $(TESTS) -timeout 90m -race $$($(GO) list $(FIRST) ./...) | .cache/testreport

.PHONY: e2e
e2e: build page/node_modules/.bin/esbuild ## Run the tests against a real DDNet server with real clients (root with apt-get, or an installed server). CRASHES=100 kills more servers
	CRASHES=$(or $(CRASHES),3) $(GO) test -tags e2e,$(TAG) -count 1 -timeout $$((8 + $(or $(CRASHES),3) / 4))m -parallel 4 -v ./e2e/...
	DDNET_SECONDS=$${DDNET_SECONDS:-8} KILLS=$${KILLS:-3} node --test --test-name-pattern 'a DDNet server' page/test/live.test.js

.PHONY: generate
generate: $(addprefix $(TOOLS)/,buf protoc-gen-go protoc-gen-go-grpc protoc-gen-events protoc-gen-python-events) .cache/python/bin/protoc-gen-mypy clients/typescript/node_modules/.bin/protoc-gen-es page/node_modules/.bin/esbuild ## Write all code that comes from the .proto files again, and the page
	PATH="$(CURDIR)/$(TOOLS):$$PATH" $(TOOLS)/buf generate
	python3 clients/python/generate.py
	npm run --silent --prefix clients/typescript build
	npm run --silent --prefix page build
	$(TOOLS)/buf build -o .cache/image.binpb
	$(GO) run ./tools/openapi -image .cache/image.binpb
	$(GO) build -o .cache/replayd ./cmd/replayd
	$(GO) run ./tools/eventdocs -image .cache/image.binpb -replayd .cache/replayd

.PHONY: lint lint-proto lint-go
lint: lint-proto lint-go ## Check the .proto files and the Go code
lint-proto: $(TOOLS)/buf
	$(TOOLS)/buf lint
	$(TOOLS)/buf format --diff --exit-code
	$(TOOLS)/buf breaking --against testdata/compat/api.binpb
lint-go: $(TOOLS)/golangci-lint
	$(TOOLS)/golangci-lint run $(PKG)

# The API that clients rely on. Additions to it are frozen with the next release. FROZEN compare the rest with what is frozen.
FROZEN := ./replay/codec/registry ./fleet/export ./service/plain ./cmd/internal/command ./cmd/replayd-fleet
.PHONY: freeze
freeze: $(TOOLS)/buf ## Freeze the API as the .proto files are, columns, parameters and flags; CONTRIBUTING.md says when
	$(TOOLS)/buf build --exclude-source-info -o testdata/compat/api.binpb
	FREEZE=1 $(GO) test -pgo=off -vet=off -count 1 -run TestFrozen $(FROZEN)

.PHONY: format
format: $(TOOLS)/buf $(TOOLS)/golangci-lint ## Format the .proto files and the Go code
	$(TOOLS)/buf format --write
	$(TOOLS)/golangci-lint fmt

.PHONY: fuzz
fuzz: ## Fuzz each target for FUZZTIME, two at a time
	.ci/fuzz "$(FUZZTIME)" "$(FUZZTOTAL)"

.PHONY: bench
bench: ## Run the benchmarks; docs/performance.md says how to read them
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -timeout 30m $(PKG)

# Which sections, all without; how often; and where the corpus is.
PEERS  ?=
ROUNDS ?= 9

.PHONY: peers
peers: ## Measure replayd beside other programs (PEERS='maps sc2' for some, ROUNDS=3 for fewer): bench/peers/README.md
	python3 bench/peers/peers.py $(PEERS) --rounds $(ROUNDS)

# What the checkout is compared with.
BASE ?= HEAD

.PHONY: slower
slower: ## Fail if a hot path has become slower by a tenth since BASE, a commit: bench/peers/README.md
	python3 bench/peers/slower.py $(BASE)

# How long chaos lasts. CI has it for some seconds.
CHAOSTIME ?= 10s

.PHONY: chaos
chaos: ## Run the daemon among faults and abusive clients for CHAOSTIME (1h for the long run)
	CHAOSTIME=$(CHAOSTIME) $(GO) test -run 'TestChaos' -count 1 -timeout 3h -v ./cmd/internal/command

# How long the attacks are: short, or long. CI has their tests as a part of make test.
ATTACKS ?= short

.PHONY: oracle
oracle: build ## Make random requests at every door, and compare what comes with what the documents say (ORACLE=5000 of each format for the long form)
	$(GO) test -timeout 2h -run 'TestRandomRequests$$|TestRandomRequestsOfPlayed|TestFollowIntoArchive$$' ./service -requests $(or $(ORACLE),600) -seed $${SEED:-1} -program $(CURDIR)/bin/replayd

.PHONY: check-match
check-match: ## Compare the facts of a match with what the game counts, and others say: FILE=match.dem OPENDOTA=match.json or CSDM=match.json
	$(GO) run ./tools/checkmatch $(if $(OPENDOTA),-opendota $(OPENDOTA)) $(if $(CSDM),-csdm $(CSDM)) $(FILE)

.PHONY: attacks
attacks: ## Attack the daemon in each way that once worked (ATTACKS=long for the long form)
	.ci/attacks $(ATTACKS)

# What packages hold besides the program, and the clients' packages.
.PHONY: release-files
release-files: .cache/python/bin/protoc-gen-mypy
	rm -rf bin/release clients/python/build
	mkdir -p bin/release/completion bin/release/clients
	$(GO) build -o bin/release/ ./cmd/replayd ./cmd/replayd-fleet
	for program in replayd replayd-fleet; do \
		bin/release/$$program man >bin/release/$$program.1; \
		gzip -9nkf bin/release/$$program.1; \
		for shell in bash zsh fish; do bin/release/$$program completion $$shell >bin/release/completion/$$program.$$shell; done; \
	done
	gzip -9nc packaging/replayd-nats.1 >bin/release/replayd-nats.1.gz
	gzip -9nc packaging/replayd-ship.1 >bin/release/replayd-ship.1.gz
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) .cache/python/bin/pip wheel --quiet --no-deps --no-build-isolation \
		--wheel-dir bin/release/clients ./clients/python
	npm pack --silent --pack-destination bin/release/clients ./clients/typescript

# The package for Python with the program in it, for each system that has one. make release has these, too.
WHEELS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
.PHONY: wheels
wheels: .cache/python/bin/protoc-gen-mypy ## Build wheels with the program in them into bin/wheels (WHEELS=linux/amd64 for one)
	rm -rf bin/wheels clients/python/build
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) .cache/python/bin/pip wheel --quiet --no-deps --no-build-isolation \
		--wheel-dir bin/wheels/any ./clients/python
	for system in $(WHEELS); do \
		GOOS=$${system%/*} GOARCH=$${system#*/} CGO_ENABLED=0 $(GO) build -trimpath -ldflags="-s -w" -o bin/wheels/program ./cmd/replayd; \
		packaging/wheel $${system%/*} $${system#*/} bin/wheels/program bin/wheels/any/*.whl bin/wheels; \
	done
	rm bin/wheels/program
	packaging/checkwheels bin/wheels $(WHEELS)

# A snapshot, unless RELEASE is set: then of the tag that HEAD has. Nothing is published.
RELEASE ?=
.PHONY: release
release: $(addprefix $(TOOLS)/,goreleaser sbom image) ## Build a release into dist/: archives, .deb, wheel, npm tarball, SBOMs, checksums, image
	$(TOOLS)/goreleaser release --clean $(if $(RELEASE),--skip publish$(comma)announce,--snapshot)
	packaging/image

.PHONY: notices
notices: page/node_modules/.bin/esbuild ## Write THIRD_PARTY_NOTICES.md again
	packaging/notices

.PHONY: test-release
test-release: ## Build a release of a copy of the last commit, install it in every way and try it (root, for the .deb and the image)
	packaging/test

.PHONY: clean
clean: ## Remove what was built here, tools too
	rm -rf bin .cache

# The tools. Each but buf is built from a module of its own and pinned by its go.sum,
# so that its dependencies stay out of the daemon's go.mod; it is built again when
# that module changes.

$(TOOLS)/protoc-gen-go:      PACKAGE := google.golang.org/protobuf/cmd/protoc-gen-go
$(TOOLS)/protoc-gen-go-grpc: PACKAGE := google.golang.org/grpc/cmd/protoc-gen-go-grpc
$(TOOLS)/grpcurl:            PACKAGE := $(GRPCURL)
$(TOOLS)/golangci-lint:      PACKAGE := github.com/golangci/golangci-lint/v2/cmd/golangci-lint
$(TOOLS)/govulncheck:        PACKAGE := golang.org/x/vuln/cmd/govulncheck

$(addprefix $(TOOLS)/,protoc-gen-go protoc-gen-go-grpc grpcurl): tools/proto/go.mod tools/proto/go.sum
	$(GO) build -C tools/proto -o $(CURDIR)/$@ $(PACKAGE)

$(addprefix $(TOOLS)/,golangci-lint govulncheck): tools/lint/go.mod tools/lint/go.sum
	$(GO) build -C tools/lint -o $(CURDIR)/$@ $(PACKAGE)

# From the npm registry: what it is built of takes two minutes to compile.
$(TOOLS)/buf: clients/typescript/node_modules/.bin/protoc-gen-es
	mkdir -p $(@D)
	ln -sf ../../clients/typescript/node_modules/.bin/buf $@
	touch $@

$(TOOLS)/goreleaser: tools/release/go.mod tools/release/go.sum
	$(GO) build -C tools/release -o $(CURDIR)/$@ github.com/goreleaser/goreleaser/v2

$(addprefix $(TOOLS)/,sbom image): $(wildcard tools/package/*/*.go) tools/package/go.mod tools/package/go.sum
	$(GO) build -C tools/package -o $(CURDIR)/$@ ./$(@F)

# Our own plugins belong to the daemon's module; Go knows best when they are stale.
.PHONY: $(TOOLS)/protoc-gen-events $(TOOLS)/protoc-gen-python-events
$(TOOLS)/protoc-gen-events $(TOOLS)/protoc-gen-python-events:
	$(GO) build -o $@ ./tools/$(@F)

# What the clients are generated, checked and tested with.
.cache/python/bin/protoc-gen-mypy: clients/python/tools.txt
	python3 -m venv .cache/python
	.cache/python/bin/pip install --quiet --requirement $<
	touch $@

clients/typescript/node_modules/.bin/protoc-gen-es: clients/typescript/package-lock.json
	npm ci --prefix clients/typescript --silent --no-audit --no-fund
	touch $@

page/node_modules/.bin/esbuild: page/package-lock.json clients/typescript/node_modules/.bin/protoc-gen-es
	npm ci --prefix page --silent --no-audit --no-fund
	touch $@

.PHONY: page
page: page/node_modules/.bin/esbuild ## Bundle the page that the daemon embeds
	npm run --silent --prefix page build

.PHONY: test-page
test-page: build page/node_modules/.bin/esbuild ## Test the page in a headless Chromium
	npm test --silent --prefix page

.PHONY: pictures
pictures: build page/node_modules/.bin/esbuild ## Draw the pictures in docs and those of the page's tests again
	bin/replayd render testdata/datafile/sample.map docs/images/map.png --scale 12 --physics
	PICTURES=draw npm test --silent --prefix page

.cache/site/bin/mkdocs: tools/site/requirements.txt
	python3 -m venv .cache/site
	.cache/site/bin/pip install --quiet --requirement $<
	touch $@

.PHONY: site
site: .cache/site/bin/mkdocs ## Build the site of the documentation into .cache/site/html; it fails if a link leads nowhere
	NO_MKDOCS_2_WARNING=1 $< build --strict --config-file tools/site/mkdocs.yml

.PHONY: test-clients
test-clients: build $(TOOLS)/grpcurl .cache/python/bin/protoc-gen-mypy clients/typescript/node_modules/.bin/protoc-gen-es ## Test the clients against the daemon, as installed in clean environments too
	clients/test
