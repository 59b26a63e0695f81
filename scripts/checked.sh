#!/usr/bin/env bash
# Swift's own commands, for the build that is tested: optimised as users get it, with assertions and invariants (see
# Package.swift). It is a release build, so it has a folder of its own: in one folder it and the one for use would take
# each other's place.
#
#   scripts/checked.sh build --build-tests
#   scripts/checked.sh build --show-bin-path
#   scripts/checked.sh test --filter SuiteName
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export PEERD_CHECKED=1
exec "${SWIFT:-$(scripts/swift-path.sh)}" "$1" -c release --scratch-path .build-checked \
    --explicit-target-dependency-import-check error "${@:2}"
