#!/usr/bin/env bash
# Builds the simulator as it is tested, with the bugs that can be planted, and looks for each of them.
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

scripts/checked.sh build --product Simulator >&2
simulator=$(scripts/checked.sh build --show-bin-path)/Simulator
case "${1:-}" in
    --build) ;;
    "" | -*) exec "$simulator" mutants "$@" ;;
    *) exec "$simulator" "$@" ;;
esac
