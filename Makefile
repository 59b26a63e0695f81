# The two commands of a newcomer are `make demo` and `make test`; `make help` lists the rest.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

SWIFT := $(shell scripts/swift-path.sh 2>/dev/null || echo swift)
export SWIFT
IMPORT_CHECK := --explicit-target-dependency-import-check error
RELEASE_PEERD = $(shell $(SWIFT) build -c release --show-bin-path)/peerd

# The system tests run the debug build unless this says otherwise: one cold build less, and its assertions are on.
TEST_PEERD = $(shell $(SWIFT) build --show-bin-path)/peerd

# With the packages the interop tests need; made by `make setup`.
PYTHON := .build-venv/bin/python

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
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory test-unit
	@$(MAKE) --no-print-directory docs
	@$(MAKE) --no-print-directory examples
	@$(MAKE) --no-print-directory simulate
	@$(MAKE) --no-print-directory test-system

.PHONY: test-unit
test-unit: setup  ## build with the import check, and run the Swift tests
	$(SWIFT) build --build-tests $(IMPORT_CHECK)
	@log=$$(mktemp); trap 'rm -f "$$log"' EXIT; $(SWIFT) test --skip-build $(IMPORT_CHECK) 2>&1 | tee "$$log" \
	    || { printf '\nThese failed:\n'; grep -a '✘' "$$log" | head -n 40; exit 1; }

.PHONY: docs
docs: setup-system  ## check the public surface of the library against PUBLIC-API.txt, and build its documentation
	$(SWIFT) build --target PeerdKit $(IMPORT_CHECK)
	@scripts/docs.sh "$$($(SWIFT) build --show-bin-path)"

.PHONY: public-api
public-api: setup-system  ## write PUBLIC-API.txt, after a change of the public surface that is meant
	$(SWIFT) build --target PeerdKit $(IMPORT_CHECK)
	@scripts/docs.sh "$$($(SWIFT) build --show-bin-path)" --update

.PHONY: examples
examples: setup-system  ## build the examples (release) as the packages of others would be, and run them
	@for example in $(dir $(wildcard Examples/*/Package.swift)); do \
	    at="-c release --package-path $$example --scratch-path .build-examples"; \
	    $(SWIFT) build $$at && $(SWIFT) run $$at --skip-build "$$(basename "$$example")" || exit 1; \
	done

.PHONY: test-system
test-system: setup  ## run the system tests against the build of test-unit (as root: also those with namespaces)
	@PEERD="$${PEERD:-$(TEST_PEERD)}" $(PYTHON) Tests/System/run.py

.PHONY: simulate
simulate: setup-system  ## run the scenarios, small worlds in full, planted bugs, and fresh seeds
	@scripts/simulate.sh

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
