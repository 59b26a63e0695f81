# The two commands of a newcomer are `make demo` and `make test`; `make help` lists the rest.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

SWIFT := $(shell scripts/swift-path.sh 2>/dev/null || echo swift)
export SWIFT
RELEASE_PEERD = $(shell $(SWIFT) build -c release --show-bin-path)/peerd

.PHONY: help
help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

.PHONY: setup
setup:  ## install what is missing on this machine (apt-get, and a Python environment for the tests)
	@scripts/setup.sh

.PHONY: setup-system
setup-system:
	@scripts/setup.sh system

.PHONY: build
build: setup-system  ## build peerd for use (release)
	$(SWIFT) build -c release --product peerd

# Where "make install" puts things; DESTDIR is in front of it and in no file.
PREFIX ?= /usr/local
DESTDIR ?=
STATIC_PEERD = .build-static/release/peerd

.PHONY: build-static
build-static: setup-system  ## build peerd with the Swift library inside, for machines without a toolchain
	$(SWIFT) build -c release --static-swift-stdlib --product peerd --scratch-path .build-static

.PHONY: install
install: build-static  ## install program, man pages, completions and units (PREFIX=/usr/local, DESTDIR=)
	@scripts/install.sh $(STATIC_PEERD) "$(DESTDIR)" "$(PREFIX)"

.PHONY: deb
deb: build-static  ## make a Debian package
	@rm -rf .build-static/deb && scripts/install.sh $(STATIC_PEERD) .build-static/deb /usr
	@scripts/deb.sh .build-static/deb

.PHONY: test-deb
test-deb: deb  ## install the package in a bare Debian, and try the quick start there (as root)
	@scripts/test-deb.sh peerd_*.deb

.PHONY: demo
demo: build  ## three peers edit apart and come together, with real data, processes and sockets
	@PEERD="$(RELEASE_PEERD)" python3 scripts/demo.py

.PHONY: test
test: setup  ## set up, lint, build, run every test, and have the simulator look for bugs
	@scripts/test.sh

.PHONY: test-unit
test-unit: setup  ## build with the import check, and run the Swift tests
	@scripts/test.sh build unit

.PHONY: test-system
test-system: setup  ## run the system tests (as root: also those with network namespaces)
	@scripts/test.sh build system

.PHONY: simulate
simulate: setup-system  ## run the scenarios, small worlds, planted bugs, and the seeds of the gate
	@scripts/test.sh build simulate

.PHONY: hunt
hunt: setup  ## the long run: fresh seeds, fuzzers, sanitizers, a thousand kills (MINUTES=60)
	@scripts/hunt.sh $(or $(MINUTES),60)

.PHONY: docs
docs: setup-system  ## check the public surface of the library against PUBLIC-API.txt, and build its documentation
	@scripts/test.sh build docs

.PHONY: public-api
public-api: setup-system  ## write PUBLIC-API.txt, after a change of the public surface that is meant
	scripts/checked.sh build --target PeerdKit
	@scripts/docs.sh "$$(scripts/checked.sh build --show-bin-path)" --update

.PHONY: lint
lint:  ## check the format of the sources; changes nothing
	@scripts/lint.sh

.PHONY: format
format:  ## format the Swift sources in place
	@scripts/lint.sh --fix

.PHONY: sanitize
sanitize: setup  ## run the Swift tests under ThreadSanitizer, then under AddressSanitizer
	$(SWIFT) test --sanitize=thread --scratch-path .build-tsan --disable-xctest
	LSAN_OPTIONS=suppressions=$(CURDIR)/scripts/leak-suppressions.txt:print_suppressions=0 \
	    $(SWIFT) test --sanitize=address --scratch-path .build-asan --disable-xctest

.PHONY: fuzz
fuzz: setup  ## run the coverage-guided fuzzers of the decoders
	@scripts/fuzz.sh

.PHONY: mutants
mutants: setup-system  ## plant bugs one at a time, and see that the simulator finds each
	@scripts/mutants.sh $(MUTANTS)

.PHONY: bench
bench: setup build  ## measure merge, store and wire beside others (see Benchmarks/README.md)
	@scripts/bench.sh
