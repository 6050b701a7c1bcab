# Targets: build install demo test bench, and the longer chaos, fuzz, clients.
PREFIX  ?= $(HOME)/.local
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS := -s -w -X shoal.dev/shoal/link.version=$(VERSION) -X main.version=$(VERSION)
BINS    := shoal shoal-mcp shoal-kernel shoal-launch
GO      ?= go

.PHONY: build install demo test unit race rules docs bench chaos hostile conformance-mcp clients fuzz clean $(BINS)

build: $(BINS)

$(BINS):
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/$@ ./cmd/$@

install: build
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 0755 $(addprefix bin/,$(BINS)) $(DESTDIR)$(PREFIX)/bin/
	ln -sf shoal $(DESTDIR)$(PREFIX)/bin/shoal-history
	ln -sf shoal $(DESTDIR)$(PREFIX)/bin/shoal-token

# An agent's whole workflow through a real shoal-mcp on a private kernel.
demo: build
	$(GO) run ./test/demo -bin bin

# What continuous integration runs; see test/run.
test:
	GO='$(GO)' sh test/run

bench: build
	$(GO) run ./test/bench -bin bin

chaos: build
	$(GO) test -count=1 -timeout 30m ./test/chaos -args -cycles 50 -rounds 20

# All sources that try to crash, hang or exhaust a kernel, beside a second session.
hostile: build
	SHOAL_BIN=$(CURDIR)/bin $(GO) test -count=1 -v -timeout 60m ./test/hostile -args -all

# The official MCP conformance suite (from npm) against the facade with fixtures.
conformance-mcp:
	@mkdir -p bin/conformance
	CGO_ENABLED=0 $(GO) build -tags conformance -o bin/conformance/ ./cmd/shoal-kernel ./cmd/shoal
	$(GO) run ./test/mcpsuite -bin bin/conformance

# The inspector, the TypeScript SDKs and the Go SDK walk an agent's day over
# stdio and HTTP. npm fetches them into the user's cache.
clients: build conformance-mcp
	SHOAL_BIN=$(CURDIR)/bin $(GO) test -count=1 -v -timeout 6m ./test/clients -args -all

FUZZTIME ?= 60s
fuzz:
	FUZZTIME=$(FUZZTIME) GO='$(GO)' sh test/fuzz

clean:
	rm -rf bin
