#!/usr/bin/env bash
# Runs all that a commit must pass, part by part, and prints at the end how long each part took.
#
#   scripts/test.sh            all parts
#   scripts/test.sh PART…      only these: lint build unit docs examples simulate system
#
# One build serves all parts: our modules optimised as users get them, with assertions and invariants. The bugs that the
# simulator must find are planted in a copy of the sources, whose simulator is built as well. A part that fails does not
# hide what comes after it; but nothing runs without a build.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

SWIFT=${SWIFT:-$(scripts/swift-path.sh)}
export SWIFT
logs=$(mktemp -d)
running=()
# Each part is a process group, so that none outlives the script.
set -m
stop() {
    local part
    for part in "${running[@]}"; do kill -- "-$part" 2>/dev/null || true; done
    rm -rf "$logs"
}
trap stop EXIT
trap 'exit 143' TERM

products() { scripts/checked.sh build --show-bin-path; }

lint() { scripts/lint.sh; }

build() { scripts/checked.sh build --build-tests && scripts/mutants.sh --build; }

unit() {
    scripts/checked.sh test --skip-build 2>&1 | tee "$logs/unit" ||
        { printf '\nThese failed:\n'; grep -a '✘' "$logs/unit" | head -n 40; return 1; }
}

docs() { scripts/docs.sh "$(products)"; }

examples() {
    local example
    for example in Guide Habits Quickstart; do "$(products)/$example" || return 1; done
}

simulate() { SIMULATOR=$(products)/Simulator PLANTED=$(scripts/mutants.sh --build) scripts/simulate.sh; }

# Side by side first; then those that load the machine, alone.
system() {
    local status=0
    if [ -z "${PEERD:-}" ]; then PEERD=$(products)/peerd; fi
    export PEERD
    .build-venv/bin/python -m pytest Tests/System -q -m "not alone" -n "$(($(nproc) * 3))" || status=1
    .build-venv/bin/python -m pytest Tests/System -q -m alone || status=1
    return "$status"
}

# Runs parts side by side: what the first of them prints is shown at once, and what the others print after it.
together() {
    local part started=() result
    printf '\n== %s\n' "$1"
    for part in "$@"; do
        if [ "$part" = "$1" ]; then timed "$part" & else timed "$part" >"$logs/$part.out" 2>&1 & fi
        started+=($!)
        running+=($!)
    done
    for part in "$@"; do
        if wait "${started[0]}"; then result=passed; else result=FAILED failed+=("$part"); fi
        started=("${started[@]:1}")
        if [ "$part" != "$1" ]; then printf '\n== %s\n' "$part" && cat "$logs/$part.out"; fi
        rows+=("$(printf '%-10s %-7s %5d s' "$part" "$result" "$(<"$logs/$part.seconds")")")
    done
    running=()
}

timed() {
    local start=$SECONDS status=0
    set +m
    # In a shell of its own, whose `set -e` no condition turns off.
    "$1" &
    wait $! || status=$?
    echo $((SECONDS - start)) >"$logs/$1.seconds"
    return "$status"
}

# Each line is what runs side by side: examples wait for each other most of their time.
groups=(lint build "unit docs examples" simulate system)
[ $# -eq 0 ] || groups=("$@")
rows=()
failed=()
for group in "${groups[@]}"; do
    # shellcheck disable=SC2086 # The names of parts have no spaces.
    together $group
    if [[ " ${failed[*]} " == *" build "* ]]; then break; fi
done
printf '\n'
printf '%s\n' "${rows[@]}"
printf '%-18s %5d s\n' total "$SECONDS"
if [ ${#failed[@]} -gt 0 ]; then
    echo "failed: ${failed[*]}"
    exit 1
fi
