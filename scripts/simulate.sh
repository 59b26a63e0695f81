#!/usr/bin/env bash
# What continuous integration has the simulator do: the scenarios, long and large lives, chains of all sizes from store
# to store, the small worlds in full, random histories of the merge alone, canaries that must fail, a sample of the bugs
# that can be planted, and a minute of fresh seeds for each topology, 5 % of them run twice.
#
#   scripts/simulate.sh              60 s a topology
#   scripts/simulate.sh SECONDS      so many seconds a topology
#
# Each commit has seeds of its own, and a commit always the same ones, so that what fails can be run again. A seed that
# fails has found a bug, of peerd or of the simulator, and is told with the line that runs it again.
#
# One build does all of it: that with the bugs that can be planted. As long as none is planted it runs the code that
# every other build runs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Two runs of a seed are in two processes, whose hash tables must be free to differ.
unset SWIFT_DETERMINISTIC_HASHING

seconds=${1:-60}
sample_size=9
topologies=(mesh star line ring twoCliques sneakernet churn)
# Where nothing else is wrong, each run finds this bug, and finds it as one of these.
canary_bug=livePushForgotten
canary_finding='notPushed|notConverged'
# Random histories of the merge alone, and a bug that the first few of them find.
history_count=20000
history_bug=lastArrivalWins
history_finding='divergence|modelDisagrees'
relay_change_count=40000
# Seeds and histories in which names of changes are cut so short that they collide all the time (P35).
name_bits=4
colliding_seed_count=400
# Of so many seeds of all kinds each rare state must be reached; see `BatchSummary`.
seeds_for_marks=2000

scripts/mutants.sh --build
simulator=.build-mutants/release/Simulator

commit=$(git -c safe.directory='*' rev-parse HEAD 2>/dev/null || true)
first=1
[ -z "$commit" ] || first=$((16#${commit:0:12} + 1))

logs=$(mktemp -d)
lanes=()
# Each step is a process group, so that none outlives this script.
set -m
stop() {
    local lane
    for lane in "${lanes[@]}"; do kill -- "-$lane" 2>/dev/null || true; done
    rm -rf "$logs"
}
trap stop EXIT

fail() {
    printf '%s\n' "$*"
    return 1
}

# The steps, each a function; what one prints is shown if it fails.

scenarios() {
    "$simulator" scenario Tests/SimulatorTests/Scenarios/*.scn
}

# Chains of all sizes, from store to store.
relays() {
    "$simulator" relays --first "$first" --changes "$relay_change_count"
}

lives() {
    "$simulator" life
}

small_worlds() {
    "$simulator" explore
}

# Runs a line that a failure has printed: with the bug that was planted it must find the same again, without it nothing.
fails_again() {
    local bug=$1 finding=$2 line=$3 status=0
    [[ $line == *" --planted $bug"* ]] || fail "a run with $bug planted prints no line that runs it again: $line"
    bash -c "$line" >"$logs/$bug.again" || status=$?
    if [ "$status" -ne 1 ] || ! grep -Eq "^FOUND ($finding):" "$logs/$bug.again"; then
        fail "what was found with $bug planted is not found again (exit status $status): $line"
    fi
    line=${line/ --planted $bug/}
    bash -c "$line" >"$logs/$bug.plain" || fail "it was not $bug that was found, for this fails too: $line"
}

# That what is looked for can be found: with a bug planted `run` must fail, and so must the line that it prints.
canary() {
    local status=0 line
    "$simulator" run --planted "$canary_bug" --faults none --first "$first" --seeds 8 \
        --jobs 1 >"$logs/canary.run" || status=$?
    cat "$logs/canary.run"
    [ "$status" -eq 1 ] || fail "a run with $canary_bug planted has exit status $status, not 1"
    line=$(awk -v finding="^($canary_finding)\$" \
        '$1 == "FAILED" && $2 ~ finding { getline; sub(/^ +/, ""); print; exit }' "$logs/canary.run")
    fails_again "$canary_bug" "$canary_finding" "$line"
}

# The merge alone; and with a bug planted in it, a history that is found, shrunk, and fails again as it is printed.
histories() {
    local status=0 line
    "$simulator" histories --first "$first" --seeds "$history_count" --jobs 1
    "$simulator" histories --planted "$history_bug" --first "$first" --seeds 64 --jobs 1 \
        >"$logs/histories.bug" 2>"$logs/histories.bug.err" || status=$?
    [ "$status" -eq 1 ] && grep -Eq "^FAILED +($history_finding) in" "$logs/histories.bug" ||
        fail "histories with $history_bug planted have exit status $status: $(cat "$logs/histories.bug")"
    line=$(sed -n "s/^ *\(scripts\/mutants.sh histories --case .*\)/\1/p" "$logs/histories.bug" | head -n 1)
    fails_again "$history_bug" "$history_finding" "$line"
}

# Whatever names mean, all must come to mean the same, and nothing may wait for ever.
colliding_names() {
    "$simulator" histories --name-bits "$name_bits" --first "$first" --seeds "$history_count" --jobs 1
    "$simulator" run --name-bits "$name_bits" --first "$first" --seeds "$colliding_seed_count" --jobs 1 \
        --faults restoredMachine,clonedDisk,copiedDatabase,equivocation,repeatedForks,hostileWrite,partition,isolation
}

# Each is looked for with the scenarios that must fail with it, and where there are none with seeds.
planted_bugs() {
    "$simulator" mutants --sample "$sample_size" --first-seed "$first" --brief --jobs 1
}

fresh_seeds() {
    local topology=$1 minutes
    minutes=$(awk -v seconds="$seconds" 'BEGIN { print seconds / 60 }')
    "$simulator" run --topology "$topology" --first "$first" --seeds 1000000 --minutes "$minutes" --jobs 1
    grep -Eq '^seeds +[0-9]+, [1-9][0-9]* of them run twice' "$logs/$topology.out" || fail "no seed was run twice"
}

# What is worth seeing of a step that passed.
shown() {
    case $1 in
        scenarios) echo "$(grep -c ': passed' "$logs/$1.out") runs" ;;
        small_worlds) grep '^[a-z]' "$logs/$1.out" ;;
        # Not as it stands: whoever looks for what failed must not find what had to.
        canary) awk '/^FAILED/ { sub(/FAILED/, "as it must:"); print; getline; print; exit }' "$logs/$1.out" ;;
        planted_bugs | lives | relays | histories | colliding_names) cat "$logs/$1.out" ;;
        *) awk 'NR <= 4' "$logs/$1.out" ;;
    esac
}

# Runs a step, and says how it came out and how long it took.
step() {
    local name=$1 start=$SECONDS status=0
    shift
    # In a process of its own: in a condition bash would go on after what failed.
    "$@" >"$logs/$name.out" 2>"$logs/$name.err" &
    wait $! || status=$?
    {
        if [ "$status" -eq 0 ]; then
            printf '%s: passed in %d s\n' "$name" $((SECONDS - start))
            shown "$name" | sed 's/^/    /'
        else
            printf '%s: FAILED in %d s, exit status %d\n' "$name" $((SECONDS - start)) "$status"
            cat "$logs/$name.out" "$logs/$name.err"
        fi
    } >"$logs/$name.shown"
    cat "$logs/$name.shown"
    return "$status"
}

# Waits until no more than so many steps go on.
wait_for_lanes() {
    while [ "$(jobs -pr | wc -l)" -gt "$1" ]; do wait -n || touch "$logs/failed"; done
}

# The marks that no seed of any topology has reached.
check_marks() {
    local seeds missed
    seeds=$(cat "${topologies[@]/%/.out}" | awk '/^seeds / { sum += $2 } END { print sum + 0 }')
    missed=$(sed -n 's/^missed  *//p' "${topologies[@]/%/.out}" | tr ' ' '\n' | sort | uniq -c |
        awk -v all="${#topologies[@]}" '$1 == all { printf "%s ", $2 }')
    echo "$seeds fresh seeds; marks that none of them has reached: ${missed:-none}"
    [ -z "$missed" ] || [ "$seeds" -lt "$seeds_for_marks" ] || fail "so many seeds have to reach every mark"
}

start=$SECONDS
echo "fresh seeds begin with $first"
# The small worlds take all cores; the others are one process each, and as many at a time as there are cores.
step small_worlds small_worlds &
lanes+=($!)
wait_for_lanes 0
for name in planted_bugs scenarios lives relays canary histories colliding_names "${topologies[@]}"; do
    wait_for_lanes $(($(nproc) - 1))
    case $name in
        planted_bugs | scenarios | lives | relays | canary | histories | colliding_names) step "$name" "$name" & ;;
        *) step "$name" fresh_seeds "$name" & ;;
    esac
    lanes+=($!)
done
wait_for_lanes 0
lanes=()

if [ ! -e "$logs/failed" ]; then
    (cd "$logs" && check_marks) || touch "$logs/failed"
fi
echo "the simulator took $((SECONDS - start)) s"
[ ! -e "$logs/failed" ] || exit 1
