#!/usr/bin/env bash
# Builds the simulator with the bugs that can be planted, and looks for each of them.
#
#   scripts/mutants.sh                          all of them
#   scripts/mutants.sh --only NAME,NAME         only these
#   scripts/mutants.sh --sample 9 --first-seed 7 --brief
#   scripts/mutants.sh --build                  build only
#
# Any other command of that build takes `--planted NAME`:
#
#   scripts/mutants.sh replay 42 --planted NAME
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

swift=${SWIFT:-$(scripts/swift-path.sh)}
"$swift" build -c release --product Simulator -Xswiftc -DPLANTED_BUGS --scratch-path .build-mutants >&2
case "${1:-}" in
    --build) ;;
    "" | -*) exec .build-mutants/release/Simulator mutants "$@" ;;
    *) exec .build-mutants/release/Simulator "$@" ;;
esac
