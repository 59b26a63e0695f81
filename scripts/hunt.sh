#!/usr/bin/env bash
# The long run: looks for what `make test`, which is the same each time, does not find. Nothing here is the same twice.
#
#   scripts/hunt.sh                  an hour of seeds, histories and fuzzing, and all that has no time of its own
#   scripts/hunt.sh MINUTES          so many minutes instead of an hour
#   scripts/hunt.sh MINUTES NAME…    only these steps
#
# It draws its first seed, or takes it from HUNT_SEED. At the end it prints a table of all steps, and for each finding
# the line that repeats it. A finding becomes a scenario or a test.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

unset SWIFT_DETERMINISTIC_HASHING

minutes=${1:-60}
shift || true
swift=${SWIFT:-$(scripts/swift-path.sh)}
first=${HUNT_SEED:-$(od -An -N6 -tu8 /dev/urandom | tr -d ' ')}
topologies=(mesh star line ring twoCliques sneakernet churn)
targets=(run message link channel record value json position compression beacon invite)
# Of the time, so many parts of a hundred go to the seeds of all topologies, to histories, and to the fuzzers.
seed_share=60
history_share=10
fuzz_share=30
kill_count=1000
relay_change_count=200000
name_bits=4

source scripts/steps.sh

# Minutes for one of several steps that share a part of the time, with as many lanes as there are cores.
minutes_each() {
    awk -v minutes="$minutes" -v share="$1" -v count="$2" -v cores="$(nproc)" \
        'BEGIN { printf "%.2f", minutes * share / 100 * cores / count }'
}

seeds() {
    "$simulator" run --topology "$1" --first "$first" --seeds 1000000 --jobs 1 \
        --minutes "$(minutes_each "$seed_share" $((${#topologies[@]} + 1)))"
}

colliding_names() {
    "$planted" run --name-bits "$name_bits" --first "$first" --seeds 1000000 --jobs 1 \
        --minutes "$(minutes_each "$seed_share" $((${#topologies[@]} + 1)))" \
        --faults restoredMachine,clonedDisk,copiedDatabase,equivocation,repeatedForks,hostileWrite,partition,isolation
}

histories() {
    "$simulator" histories --first "$first" --seeds 100000000 --jobs 1 --minutes "$(minutes_each "$history_share" 1)"
}

fuzzers() {
    local each
    # They run one after the other, in one lane.
    each=$(minutes_each "$fuzz_share" ${#targets[@]})
    scripts/fuzz.sh "$(awk -v each="$each" 'BEGIN { print int(each * 60) }')"
}

lives() { "$simulator" life; }

relays() { "$simulator" relays --first "$first" --changes "$relay_change_count"; }

small_worlds() { "$simulator" explore; }

scenarios() { "$simulator" scenario Tests/SimulatorTests/Scenarios/*.scn; }

# All of them, with all that looks for them.
planted_bugs() { "$planted" mutants --first-seed "$first" --jobs 1; }

sanitizers() { make --no-print-directory sanitize; }

kills() {
    PEERD_KILLS=$kill_count scripts/checked.sh test --skip-build --filter KilledWriterTests
    PEERD=$peerd PEERD_KILLS=$kill_count .build-venv/bin/python -m pytest Tests/System/test_kill9.py \
        --seed "$((first % 4294967296))" --timeout 7200 -q
}

system_tests() {
    PEERD=$peerd PEERD_API_SECONDS=300 .build-venv/bin/python -m pytest Tests/System \
        --seed "$((first % 4294967296))" -n "$(nproc)" -q
}

# As the packages of others, against the shipped build.
examples() {
    local example at
    for example in $(dirname Examples/*/Package.swift); do
        at="-c release --package-path $example --scratch-path .build-examples"
        "$swift" build $at || return 1
        "$swift" run $at --skip-build "$(basename "$example")" || return 1
    done
}

# With nothing optimised, and without the conditions of the checked build.
unoptimised() { "$swift" test; }

shown() { grep -aE '^(seeds|histories|simulated|missed|[0-9]+ (passed|of))' "$logs/$1.out" | head -n 6 || true; }

is_topology() { [[ " ${topologies[*]} " == *" $1 "* ]]; }

scripts/checked.sh build --build-tests
simulator=$(scripts/checked.sh build --show-bin-path)/Simulator
planted=$(scripts/mutants.sh --build)
peerd=$(scripts/checked.sh build --show-bin-path)/peerd

wanted=("$@")
[ $# -gt 0 ] || wanted=(
    planted_bugs "${topologies[@]}" colliding_names histories lives relays small_worlds scenarios
    fuzzers kills system_tests examples unoptimised sanitizers
)
start=$SECONDS
echo "the first seed is $first (HUNT_SEED=$first draws the same again)"
for name in "${wanted[@]}"; do
    if is_topology "$name"; then lane "$name" seeds "$name"; else lane "$name" "$name"; fi
done
wait_for_lanes

printf '\n%-18s %s\n' step result
for name in "${wanted[@]}"; do
    printf '%-18s %s\n' "$name" "$(sed -n '1s/^[^:]*: //p' "$logs/$name.shown")"
done
findings=$(cd "$logs" && grep -ahE -A1 '^(FAILED|FOUND)' ./*.out | grep -av '^--$' || true)
[ -z "$findings" ] || printf '\nFound, each with the line that repeats it:\n%s\n' "$findings"
echo "the hunt took $((SECONDS - start)) s"
! has_failed
