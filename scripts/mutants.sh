#!/usr/bin/env bash
# Builds the simulator from a copy of the sources in which bugs are planted (Tests/Mutants), and looks for each of them.
#
#   scripts/mutants.sh                          all of them
#   scripts/mutants.sh --only NAME,NAME         only these
#   scripts/mutants.sh --sample 9 --first-seed 7 --brief
#   scripts/mutants.sh --build                  builds only, and prints where the program is
#   scripts/mutants.sh --save                   writes the patches anew, from what was edited in the copy
#
# Any other command of that build takes `--planted NAME` and `--name-bits COUNT`:
#
#   scripts/mutants.sh replay 42 --planted NAME
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tree=.build-mutants/tree
if [ "${1:-}" = --save ]; then exec python3 scripts/planted_tree.py "$tree" --save; fi

python3 scripts/planted_tree.py "$tree"
at="--package-path $tree --scratch-path .build-mutants/build"
# shellcheck disable=SC2086 # These are words.
PEERD_CHECKED=1 "${SWIFT:-$(scripts/swift-path.sh)}" build -c release $at --product Simulator >&2
# shellcheck disable=SC2086
simulator=$(PEERD_CHECKED=1 "${SWIFT:-$(scripts/swift-path.sh)}" build -c release $at --show-bin-path)/Simulator
case "${1:-}" in
    --build) echo "$simulator" ;;
    "" | -*) exec "$simulator" mutants "$@" ;;
    *) exec "$simulator" "$@" ;;
esac
